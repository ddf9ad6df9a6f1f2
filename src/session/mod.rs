//! Runs a scenario's steps; owns the target (given URI or embedded server). Parses no argv, draws nothing.
