//! The built binary, as a person meets it: started, asked, told to stop.
//!
//! What can't be tried on a machine (no php-fpm, no second user) is said on standard
//! error and skipped. Start at [`starts`]; each file has one theme.

mod admin;
mod app;
mod auditing;
mod bench;
mod changes;
mod compression;
#[path = "../../../changes/tests/shared/daemon.rs"]
mod daemon;
mod database;
mod demo;
mod dictionary;
mod disk;
mod examining;
mod explain;
mod folder;
mod history;
mod importing;
mod large;
mod log;
#[path = "../cluster/nats.rs"]
#[allow(dead_code, reason = "the tests of clusters ask more of it")]
mod nats;
mod origin;
mod overruling;
mod own_user;
mod parts;
#[path = "../../../changes/tests/postgres/server.rs"]
#[allow(dead_code, reason = "what others test by it isn't tested here")]
mod postgres_server;
mod profile;
mod purge;
mod querying;
mod queue;
mod reloading;
mod search;
mod search_edits;
mod search_engine;
mod search_leaks;
mod search_narrowing;
mod search_sources;
mod search_surviving;
mod service;
mod serving;
mod sites;
mod sphinx;
#[path = "../../../search/tests/sphinx/clients.rs"]
#[allow(dead_code, reason = "what others test by it isn't tested here")]
mod sphinx_clients;
mod starts;
mod stopping;
mod top;
mod traces;
mod trying;
mod upgrading;
mod views;
mod websub;
mod wick;
