"""The statistics of a comparison: pure functions on arrays, without files or text.

Data passes through them in this order: `rounds` cuts every process to the same warm rounds, `order` sorts and pairs the
processes, `fit` estimates the shift and its scatter, `verdict` decides. docs/explanation/verdict.md gives the reasons
for the rules, and how often they are wrong.
"""
