//! Taps in trouble: what can't be read, who goes in the middle, who wants to be somebody else.

use changes::{Event, Feed, Lost};
use tokio::time::timeout;

use crate::hearing::WAIT;
use crate::php::Php;
use crate::server::Server;
use crate::{SETTINGS, TABLES, hear, tap, told, until};

const CONNECT: &str =
    "$m = new mysqli('localhost', 'app', 'app', 'site'); return $m->connect_error;";

async fn run(php: Php, code: &str) -> (Php, String) {
    php.run_beside(code).await
}

#[tokio::test]
async fn a_conversation_that_can_not_be_read_passes_and_is_lost() {
    let Some(server) = Server::start(SETTINGS) else { return };
    server.ask(TABLES);
    let (tap, _folder) = tap(&server);
    let mut feed = hear(&tap).await;
    let Some(php) = Php::start(tap.socket()) else { return };
    let compressed = "$m = mysqli_init(); \
        $m->real_connect('localhost', 'app', 'app', 'site', null, null, MYSQLI_CLIENT_COMPRESS); \
        return $m->query('SELECT REPEAT(1, 100)')->fetch_row()[0];";
    let (php, answer) = run(php, compressed).await;
    assert_eq!(answer, format!("\"{}\"", "1".repeat(100)));
    assert_eq!(feed.ready(), Some(Event::Lost(Lost::Unreadable)));
    let mut late = Feed::tap(&tap);
    until(&mut late, |event| *event == Event::Lost(Lost::Unreadable)).await;
    let (_php, _) = run(php, "return $m->close();").await;
    for feed in [&mut feed, &mut late] {
        until(feed, |event| *event == Event::Recovered).await;
    }
}

#[tokio::test]
async fn a_connection_killed_in_the_middle_changes_nothing() {
    let Some(server) = Server::start(SETTINGS) else { return };
    server.ask(TABLES);
    let (tap, _folder) = tap(&server);
    let mut feed = hear(&tap).await;
    let Some(php) = Php::start(tap.socket()) else { return };
    let (php, _) = run(php, CONNECT).await;
    let begin = "$m->begin_transaction(); $m->query(\"INSERT INTO posts (title) VALUES ('x')\"); \
        return $m->thread_id;";
    let (php, number) = run(php, begin).await;
    server.ask(&format!("KILL {number};"));
    let (php, answer) = run(php, "return [@$m->commit(), $m->errno];").await;
    assert_eq!(answer, "[false,2006]");
    assert_eq!(server.ask("SELECT COUNT(*) FROM site.posts;"), "0");
    let (php, _) = run(php, CONNECT).await;
    let (_php, _) = run(php, "return $m->query('TRUNCATE posts');").await;
    // What could have been committed when nobody knew was told; that is all there may be.
    let told = told(&mut feed);
    assert_eq!(told.last().map(String::as_str), Some("Other posts  ?"), "{told:?}");
    assert!(told.len() <= 2, "{told:?}");
}

#[tokio::test]
async fn a_statement_whose_client_has_gone_is_told_when_it_is_done() {
    let Some(server) = Server::start(SETTINGS) else { return };
    server.ask(TABLES);
    server.ask("INSERT INTO site.posts (title) VALUES ('x')");
    let (tap, _folder) = tap(&server);
    let mut feed = hear(&tap).await;
    let (Some(holder), Some(goer)) = (Php::start(&server.socket()), Php::start(tap.socket()))
    else {
        return;
    };
    let (holder, _) = run(holder, CONNECT).await;
    let (holder, _) =
        run(holder, "$m->begin_transaction(); return $m->query('UPDATE posts SET views = 1');")
            .await;
    let (mut goer, _) = run(goer, CONNECT).await;
    goer.begin("return $m->query(\"UPDATE posts SET title = 'y'\");");
    let waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'UPDATE%'";
    while server.ask(waiting) != "1" {
        tokio::task::yield_now().await;
    }
    goer.kill();
    assert_eq!(told(&mut feed), Vec::<String>::new());
    let (_holder, _) = run(holder, "return $m->commit();").await;
    let heard = until(&mut feed, |event| matches!(event, Event::Change(_))).await;
    assert!(
        matches!(&heard[..], [Event::Change(change)] if &*change.table == "posts"),
        "{heard:?}"
    );
    assert_eq!(server.ask("SELECT title FROM site.posts"), "y");
}

#[tokio::test]
async fn a_server_that_dies_is_lost_and_found_again() {
    let Some(mut server) = Server::start(SETTINGS) else { return };
    server.ask(TABLES);
    let (tap, _folder) = tap(&server);
    let mut feed = hear(&tap).await;
    let Some(php) = Php::start(tap.socket()) else { return };
    let (php, _) = run(php, CONNECT).await;
    server.kill();
    let (php, answer) = run(php, "return [@$m->query('SELECT 1'), $m->errno];").await;
    assert_eq!(answer, "[false,2006]");
    until(&mut feed, |event| matches!(event, Event::Lost(_))).await;
    // There is nobody behind the tap: who comes is let go again.
    let (php, answer) = run(php, "return @mysqli_connect('localhost', 'app', 'app');").await;
    assert_eq!(answer, "false");
    server.again();
    until(&mut feed, |event| *event == Event::Recovered).await;
    let (mut php, _) = run(php, CONNECT).await;
    // One that has only just come may not say in time what keys its tables have.
    let insert = "return $m->query(\"INSERT INTO posts (title) VALUES ('x')\");";
    let until_known = async {
        loop {
            let (same, answer) = run(php, insert).await;
            php = same;
            let told = told(&mut feed);
            assert_eq!((answer.as_str(), told.len()), ("true", 1), "{told:?}");
            match &*told[0] {
                "Insert posts  -" => break,
                other => assert_eq!(other, "Insert posts  ?"),
            }
        }
    };
    timeout(WAIT, until_known).await.expect("its tables become known");
}

#[tokio::test]
async fn a_tap_that_goes_takes_its_connections_and_its_socket_along() {
    let Some(server) = Server::start(SETTINGS) else { return };
    server.ask(TABLES);
    let (tap, _folder) = tap(&server);
    let mut feed = hear(&tap).await;
    let socket = tap.socket().to_owned();
    let Some(php) = Php::start(&socket) else { return };
    let (php, _) = run(php, CONNECT).await;
    drop(tap);
    assert!(!socket.exists());
    until(&mut feed, |event| matches!(event, Event::Lost(_))).await;
    let (php, answer) = run(php, "return [@$m->query('SELECT 1'), $m->errno];").await;
    assert_eq!(answer, "[false,2006]");
    let (_php, answer) =
        run(php, "@new mysqli('localhost', 'app', 'app'); return mysqli_connect_errno();").await;
    assert_eq!(answer, "2002");
    // One that lies there from before is no hindrance.
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("nobody is there"));
    let again = changes::Tap::stand(&socket, server.address("app", "app")).expect("it stands");
    assert!(
        changes::Tap::stand(&socket, server.address("app", "app")).is_err(),
        "somebody is there"
    );
    drop(again);
}

#[tokio::test]
async fn nobody_goes_to_the_server_as_somebody_else() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let Some(server) = Server::start(SETTINGS) else { return };
    server.ask(
        "ALTER USER root@localhost IDENTIFIED VIA unix_socket; \
         CREATE USER mysql@localhost IDENTIFIED VIA unix_socket; \
         GRANT ALL ON site.* TO mysql@localhost;",
    );
    let (tap, _folder) = tap(&server);
    let Some(php) = Php::start_as(tap.socket(), Some("mysql")) else { return };
    let own = "$m = new mysqli('localhost', 'mysql', '', 'site'); \
        return $m->query('SELECT CURRENT_USER()')->fetch_row()[0];";
    let (php, answer) = run(php, own).await;
    assert_eq!(answer, "\"mysql@localhost\"");
    let chief = "return (@new mysqli('localhost', 'root'))->connect_errno;";
    let (_php, answer) = run(php, chief).await;
    assert_eq!(answer, "1698");
    let Some(php) = Php::start(tap.socket()) else { return };
    let (_php, answer) = run(php, chief).await;
    assert_eq!(answer, "0");
}
