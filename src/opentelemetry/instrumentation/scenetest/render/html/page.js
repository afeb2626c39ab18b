"use strict";
const figures = JSON.parse(document.getElementById("figures").textContent);
const narrow = window.matchMedia("(max-width: 40rem)");
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
    // The legend lies below the axis: plotly's toolbar is at the top.
    margin: { l: 8, r: 8, t: narrow.matches ? 8 : 32, b: 8 },
    legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom" },
    xaxis: { automargin: true, ...layout.xaxis, ...axis },
    yaxis: { ...layout.yaxis, ...axis },
  };
}

function draw() {
  for (const [name, figure] of Object.entries(figures)) {
    const options = { responsive: true, displaylogo: false, displayModeBar: narrow.matches ? false : "hover" };
    Plotly.react(name, figure.data, themed(figure.layout), options);
  }
}

draw();
dark.addEventListener("change", draw);
narrow.addEventListener("change", draw);
