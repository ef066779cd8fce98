//! FastCGI records.
