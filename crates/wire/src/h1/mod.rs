//! HTTP/1.1 framing.
