"use strict";
const figures = JSON.parse(document.getElementById("figures").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function themed(layout) {
  const style = getComputedStyle(document.documentElement);
  const line = style.getPropertyValue("--line").trim();
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line };
  return {
    ...layout,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: style.getPropertyValue("--ink").trim() },
    margin: { l: 8, r: 8, t: 32, b: 8 },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
    xaxis: { automargin: true, ...layout.xaxis, ...axis },
    yaxis: { ...layout.yaxis, ...axis },
  };
}

function draw() {
  for (const [name, figure] of Object.entries(figures)) {
    Plotly.react(name, figure.data, themed(figure.layout), { responsive: true, displaylogo: false });
  }
}

draw();
dark.addEventListener("change", draw);
