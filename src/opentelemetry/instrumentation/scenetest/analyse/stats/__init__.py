"""The statistics of a comparison: pure functions on arrays, no files, no words.

Read in the order in which data passes through: `rounds` cuts every process to the same warm rounds, `order` sorts and
pairs the processes, `fit` estimates the shift and its scatter, `verdict` decides. Why each rule is as it is, and how
often it is wrong, stands in docs/explanation/verdict.md.
"""
