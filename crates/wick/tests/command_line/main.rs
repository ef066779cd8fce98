//! The built binary, as a person meets it: started, asked, told to stop.
//!
//! What can't be tried on a machine (no php-fpm, no second user) is said on standard
//! error and skipped. Start at [`starts`], then [`folder`], [`importing`], [`sites`], [`admin`], [`stopping`], [`explain`], [`log`], [`top`], [`purge`], [`changes`], [`compression`], [`demo`], [`disk`].

mod admin;
mod changes;
mod compression;
#[path = "../../../changes/tests/shared/daemon.rs"]
mod daemon;
mod database;
mod demo;
mod disk;
mod explain;
mod folder;
mod importing;
mod log;
mod origin;
mod own_user;
mod purge;
mod reloading;
mod service;
mod serving;
mod sites;
mod starts;
mod stopping;
mod top;
mod upgrading;
mod wick;
