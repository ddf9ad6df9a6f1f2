//! Frames and Summary → text and JSON. Never sees the engine.
