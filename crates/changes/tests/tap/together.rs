//! The tap and the poll together: what the app writes is told as what it is, and what
//! anybody else writes is told, too.

use changes::{Event, Feed};

use crate::php::Php;
use crate::server::Server;
use crate::{SETTINGS, TABLES, WAIT, tap, until};

const CONNECT: &str = "$m = new mysqli('localhost', 'app', 'app', 'site');";
const UPDATE: &str = "$m->query('UPDATE posts SET views = views + 1')";

/// Rounds without news after which nothing is in doubt any more, and nothing still to come.
const CALM_ROUNDS: usize = 15;

/// Listens until there was nothing to tell for a while; what was told.
async fn calm(feed: &mut Feed) -> Vec<String> {
    let mut told = Vec::new();
    let mut idle = 0;
    let listen = async {
        while idle < CALM_ROUNDS {
            match feed.next().await {
                Event::Idle => idle += 1,
                Event::Change(change) => {
                    idle = 0;
                    told.push(change.to_string());
                }
                _ => {}
            }
        }
    };
    assert!(tokio::time::timeout(WAIT, listen).await.is_ok(), "it never rests: {told:?}");
    told
}

#[tokio::test]
async fn what_the_app_writes_is_told_once_and_what_others_write_is_told_too() {
    let Some(server) = Server::start(SETTINGS) else { return };
    server.ask(TABLES);
    server.ask(
        "USE site; INSERT INTO posts (title) VALUES ('x'); CREATE TABLE log (a INT); \
         CREATE TRIGGER noted AFTER INSERT ON options FOR EACH ROW INSERT INTO log VALUES (1);",
    );
    let (tap, _folder) = tap(&server);
    let mut feed = Feed::tap_and_poll(&tap);
    until(&mut feed, |event| *event == Event::Recovered).await;
    calm(&mut feed).await;
    let Some(php) = Php::start(tap.socket()) else { return };
    let (php, _) = php.run_beside(CONNECT).await;
    let (php, _) = php
        .run_beside(&format!("{UPDATE}; $m->begin_transaction(); {UPDATE}; return $m->commit();"))
        .await;
    let prepared = "$s = $m->prepare('UPDATE posts SET views = views + ?'); $i = 1; \
        $s->bind_param('i', $i); return $s->execute();";
    let (php, _) = php.run_beside(prepared).await;
    let told = calm(&mut feed).await;
    // What a table has may not be known in time on a busy machine: then any row may be meant, and
    // what a transaction writes is told at once as well, as nobody may be able to take it back.
    let is_it = |one: &String| ["Update posts views -", "Update posts views ?"].contains(&&**one);
    let most = 3 + usize::from(told.iter().any(|one| one.ends_with('?')));
    assert!((3..=most).contains(&told.len()) && told.iter().all(is_it), "{told:?}");

    // Somebody else, in the very second in which the app writes the same table.
    server.ask("UPDATE site.posts SET title = 'edited'");
    let (php, _) = php.run_beside(&format!("return {UPDATE};")).await;
    let told = calm(&mut feed).await;
    assert!(told.contains(&"Other posts  ?".to_owned()), "{told:?}");

    // And a trigger of the app's own statement.
    let insert = "return $m->query(\"INSERT INTO options (option_name) VALUES ('a')\");";
    let (_php, _) = php.run_beside(insert).await;
    let told = calm(&mut feed).await;
    assert!(told.contains(&"Other log  ?".to_owned()), "{told:?}");
}
