//! The servers that are asked: searchd in a folder of its own, and Wick in this process.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use search::Limits;
use search::sphinx::{Catalogue, Door, Figures, Held, Protocol, conf, shape_of};
use tempfile::TempDir;

/// Both indexes, as the oracle is told of them; Wick reads the same file.
fn conf_of(folder: &str, api: u16, mysql: u16) -> String {
    let index = |name: &str| {
        format!(
            "index {name} {{\n type = rt\n path = {folder}/{name}\n rt_field = title\n \
             rt_field = data\n rt_attr_uint = forum_id\n rt_attr_uint = topic_id\n \
             rt_attr_uint = poster_id\n rt_attr_timestamp = post_time\n rt_attr_bool = deleted\n \
             rt_attr_multi = tags\n rt_attr_multi = category\n \
             rt_attr_multi_64 = far\n rt_attr_string = subject\n min_prefix_len = 2\n \
             dict = keywords\n rt_mem_limit = 32M\n}}\n"
        )
    };
    format!(
        "{}{}searchd {{\n listen = 127.0.0.1:{api}\n listen = 127.0.0.1:{mysql}:mysql41\n \
         pid_file = {folder}/pid\n log = {folder}/log\n binlog_path =\n workers = threads\n}}\n",
        index("main"),
        index("delta"),
    )
}

/// The oracle. It ends with this.
pub(crate) struct Searchd {
    child: Child,
    pub(crate) api: u16,
    pub(crate) mysql: u16,
    _folder: TempDir,
}

impl Searchd {
    /// None, where it isn't installed.
    pub(crate) fn start() -> Option<Self> {
        Command::new("searchd").arg("--help").stdout(Stdio::null()).status().ok()?;
        let folder = tempfile::tempdir().expect("a folder");
        let (api, mysql) = (loopback::port(), loopback::port());
        let path = folder.path().join("sphinx.conf");
        let text = conf_of(&folder.path().display().to_string(), api, mysql);
        fs::write(&path, text).expect("it can be written");
        let child = Command::new("searchd")
            .args(["--nodetach", "--config"])
            .arg(&path)
            .stdout(Stdio::null())
            .spawn()
            .expect("it begins");
        let searchd = Self { child, api, mysql, _folder: folder };
        let is_there = (0..600).any(|_| {
            let is_there = TcpStream::connect(("127.0.0.1", mysql)).is_ok();
            if !is_there {
                std::thread::sleep(Duration::from_millis(50));
            }
            is_there
        });
        assert!(is_there, "searchd doesn't begin");
        Some(searchd)
    }
}

impl Drop for Searchd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ours, with the indexes of the same file.
pub(crate) struct Wick {
    api: Door,
    mysql: Door,
    catalogue: Arc<Catalogue>,
    _folder: TempDir,
}

impl Wick {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let made = folder.path().join("made");
        fs::create_dir(&made).expect("a folder");
        let catalogue = Arc::new(Catalogue::new(made, Limits::default(), None));
        let conf = conf::read(&conf_of("/nowhere", 1, 2)).expect("it is read");
        for index in &conf.indexes {
            let shape = shape_of(index, &index.fields, &index.attributes);
            let own = folder.path().join(&index.name);
            fs::create_dir(&own).expect("a folder");
            let (opened, _) =
                search::Index::open(&own, shape, Limits::default(), None).expect("it opens");
            let kinds = index.attributes.iter().map(|(_, kind)| *kind).collect();
            catalogue.hold(Held { kinds, ..Held::new(&index.name, opened, true) });
        }
        let figures = Arc::new(Figures::default());
        let open = |protocol| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            Door::open(listener, protocol, catalogue.clone(), figures.clone()).expect("it opens")
        };
        let (api, mysql) = (open(Protocol::Binary), open(Protocol::MySql));
        Self { api, mysql, catalogue, _folder: folder }
    }

    pub(crate) fn api(&self) -> u16 {
        self.api.address().port()
    }

    pub(crate) fn mysql(&self) -> u16 {
        self.mysql.address().port()
    }

    pub(crate) fn commit(&self) {
        self.catalogue.all().iter().for_each(|held| held.index.commit());
    }
}

const PDO: &str = r#"
$pdo = new PDO("mysql:host=127.0.0.1;port=$argv[1]", "", "",
    [PDO::ATTR_EMULATE_PREPARES => true, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$pdo->exec("CREATE TABLE IF NOT EXISTS topics_rt (topic_title text, forum_id int)");
$put = $pdo->prepare("REPLACE INTO topics_rt (id, topic_title, forum_id) VALUES (?, ?, ?)");
$put->execute([5, "It's a \"test\" \\ of quotes", 3]);
$put->execute([6, "another test", 4]);
$ask = $pdo->prepare("SELECT id, topic_title FROM topics_rt WHERE MATCH(?) AND forum_id IN (?, ?) LIMIT 0, 50");
$ask->execute(["test", 3, 9]);
echo json_encode($ask->fetchAll(PDO::FETCH_ASSOC)), "\n";
try { $pdo->query("SELECT id FROM nope"); } catch (PDOException $e) { echo $e->getMessage(), "\n"; }
"#;

const MYSQLI: &str = r#"
mysqli_report(MYSQLI_REPORT_OFF);
$db = new mysqli("127.0.0.1", "", "", "", (int) $argv[1]);
echo json_encode($db->query("SELECT id FROM topics_rt WHERE MATCH('test') ORDER BY id DESC")->fetch_all()), "\n";
$db->multi_query("SELECT id FROM topics_rt WHERE id = '5'; SHOW META");
echo json_encode($db->store_result()->fetch_all()), "\n";
$db->next_result();
echo json_encode(array_slice($db->store_result()->fetch_all(), 0, 2)), "\n";
var_dump($db->prepare("SELECT ?"));
echo $db->error, "\n", $db->ping() ? "there" : "gone", "\n";
"#;

/// PHP's two libraries and MariaDB's own client, where they are installed.
pub(crate) fn clients_of_others(mysql: u16, _api: u16) {
    let port = mysql.to_string();
    let php = |code: &str| printed(Command::new("php").args(["-r", code, &port]));
    let Some(pdo) = php(PDO) else {
        eprintln!("skipped: php isn't there; scripts/setup test installs it");
        return;
    };
    assert_eq!(
        pdo,
        "[{\"id\":5,\"topic_title\":\"It's a \\\"test\\\" \\\\ of quotes\"}]\n\
         SQLSTATE[42000]: Syntax error or access violation: 1064 unknown local index 'nope' in \
         search request\n"
    );
    let mysqli = php(MYSQLI).unwrap_or_default();
    assert_eq!(
        mysqli,
        "[[\"6\"],[\"5\"]]\n[[\"5\"]]\n[[\"total\",\"1\"],[\"total_found\",\"1\"]]\nbool(false)\n\
         prepared statements are not supported; let the client emulate them \
         (PDO::ATTR_EMULATE_PREPARES)\nthere\n"
    );
    let mut client = Command::new("mariadb");
    client.args(["-h", "127.0.0.1", "-P", &port, "-N", "-e"]);
    let Some(told) = printed(client.arg("SELECT id FROM topics_rt; SHOW TABLES LIKE 'to%'")) else {
        eprintln!("skipped: the mariadb client isn't there; scripts/setup test installs it");
        return;
    };
    assert_eq!(told, "5\n6\ntopics_rt\trt\n");
}

/// What MariaDB's client prints of the answers to statements.
pub(crate) fn printed_by_mariadb(mysql: u16, statements: &str) -> Option<String> {
    let mut client = Command::new("mariadb");
    client.args(["--no-defaults", "-h", "127.0.0.1", "-P", &mysql.to_string(), "-N", "-e"]);
    printed(client.arg(statements))
}

/// What a program prints; none where it can't be begun.
fn printed(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
