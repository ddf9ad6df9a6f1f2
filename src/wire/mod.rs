//! OP_MSG framing, shared by the embedded server and the canned-reply bench server.
