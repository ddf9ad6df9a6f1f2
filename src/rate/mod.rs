//! The schedule of due times, fixed at the start (start + n/rate); governor bounds the catch-up to
//! rate × burst. Never sees an op.
