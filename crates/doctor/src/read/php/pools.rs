//! php-fpm's pools as their files say, and the php.ini beside them.
//!
//! Packages have a folder of pools for each PHP. Whoever starts a php-fpm with a file of its own,
//! as a Wick does for each site in a folder, is found by what its master calls itself.

use crate::machine::{Keeper, Machine, Pool, Unseen};
use crate::read::Root;
use crate::settings_file::{Dialect, lines};

/// What a master calls itself, before its file and `)`.
const MASTER: &str = "php-fpm: master process (";
/// What a Wick writes first in its file.
const WICKS: &str = "; Written by wick";
/// More of those with a file of their own aren't looked at.
const KEPT_MAX: usize = 64;

/// The files of php.ini that a php-fpm reads, by what its pools bear.
type Inis = Vec<(String, Vec<String>)>;

/// The pools that files tell of and that run, and the php.ini beside them.
pub(in crate::read) fn read_pools(root: &Root, machine: &mut Machine) {
    let mut inis: Inis = Vec::new();
    let mut versions = root.names("etc/php").unwrap_or_default();
    versions.push(String::new());
    for version in &versions {
        let (folder, main) = (pool_folder(version), main_file(version));
        let mut pools = Vec::new();
        for file in root.files(&folder, ".conf") {
            read_pool(version, &root.text(&file).unwrap_or_default(), &mut pools);
        }
        let master = master(root, machine, &main);
        if pools.is_empty() || master.is_some() {
            pools.iter_mut().for_each(|pool| pool.master = master);
            machine.pools.append(&mut pools);
        } else {
            machine.unseen.push(Unseen {
                what: format!("how the pools of /{folder} do"),
                cure: "their php-fpm doesn't run: start it, or remove their files".into(),
            });
        }
        inis.push((version.clone(), ini_files(root, version)));
    }
    read_kept(root, machine, &versions, &mut inis);
    name_counters(&mut machine.pools);
    let known: Vec<String> = machine.phps().into_iter().map(str::to_owned).collect();
    for (version, files) in inis {
        // Of one without pools nobody runs anything, unless there is none with.
        if known.is_empty() || known.contains(&version) {
            let (beginning, _) = machine.names_of_php(&version);
            files.iter().for_each(|file| {
                read_ini(&root.text(file).unwrap_or_default(), &beginning, machine);
            });
        }
    }
}

fn home(version: &str) -> String {
    if version.is_empty() { "etc/php-fpm.d/..".into() } else { format!("etc/php/{version}/fpm") }
}

fn pool_folder(version: &str) -> String {
    match version.is_empty() {
        true => "etc/php-fpm.d".to_owned(),
        false => format!("{}/pool.d", home(version)),
    }
}

fn main_file(version: &str) -> String {
    match version.is_empty() {
        true => "/etc/php-fpm.conf".to_owned(),
        false => format!("/{}/php-fpm.conf", home(version)),
    }
}

fn ini_files(root: &Root, version: &str) -> Vec<String> {
    let home = home(version);
    let ini = if version.is_empty() { "etc/php.ini".into() } else { format!("{home}/php.ini") };
    let mut files = vec![ini];
    files.extend(root.files(&format!("{home}/conf.d"), ".ini"));
    files
}

/// The php-fpm that runs by this file: its master calls itself by it, or was called with it.
fn master(root: &Root, machine: &Machine, main: &str) -> Option<u32> {
    let by_title = |wanted: &dyn Fn(&str) -> bool| {
        let mut all = machine.processes.iter().filter(|one| one.name.starts_with("php-fpm"));
        all.find(|one| wanted(&one.title)).map(|one| one.pid)
    };
    let exact = format!("{MASTER}{})", root.at(main).display());
    by_title(&|title| title == exact).or_else(|| by_title(&|title| title.contains(main)))
}

/// Those that run by a file that no package has.
fn read_kept(root: &Root, machine: &mut Machine, versions: &[String], inis: &mut Inis) {
    let masters = machine.processes.iter().filter(|one| one.name.starts_with("php-fpm"));
    let masters = masters.filter_map(|one| {
        let path = one.title.trim().strip_prefix(MASTER)?.strip_suffix(')')?;
        Some((one.pid, one.name.clone(), path.to_owned(), root.inside(path)?))
    });
    let is_kept = |file: &str| !versions.iter().any(|version| main_file(version) == file);
    let masters = masters.filter(|(.., file)| is_kept(file)).take(KEPT_MAX);
    for (pid, program, path, file) in masters.collect::<Vec<_>>() {
        // It may see another tree than we do.
        let text = root.text(&file).or_else(|| root.text(&format!("proc/{pid}/root{path}")));
        let Some(text) = text else {
            machine.unseen.push(Unseen {
                what: format!("how the pools of {file} do"),
                cure: "their php-fpm runs, and its file can't be read: run as root".into(),
            });
            continue;
        };
        let mut pools = Vec::new();
        read_pool(&file, &text, &mut pools);
        for included in included(root, &text) {
            read_pool(&file, &root.text(&included).unwrap_or_default(), &mut pools);
        }
        let keeper = if text.starts_with(WICKS) { Keeper::Wick } else { Keeper::Other };
        for pool in &mut pools {
            pool.keeper = Some(keeper);
            pool.master = Some(pid);
        }
        machine.pools.append(&mut pools);
        // Debian calls the program by its version, whose php.ini it reads.
        let version = program.trim_start_matches("php-fpm");
        inis.push((file, ini_files(root, version)));
    }
}

/// Files that another includes, as `include = /FOLDER/*.conf` or by its name.
fn included(root: &Root, text: &str) -> Vec<String> {
    let includes = lines(Dialect::Ini, text).into_iter().filter(|line| line.name == "include");
    let paths: Vec<String> = includes.filter_map(|line| root.inside(line.value)).collect();
    let files = paths.iter().flat_map(|path| match path.rsplit_once("/*") {
        Some((folder, ending)) => root.files(folder, ending),
        None => vec![path.clone()],
    });
    files.collect()
}

/// Pools of different php-fpm's may have one name, and are counted apart.
fn name_counters(pools: &mut [Pool]) {
    for at in 1..pools.len() {
        let (before, rest) = pools.split_at_mut(at);
        let pool = &mut rest[0];
        if before.iter().any(|one| one.name == pool.name) {
            pool.counted_as = Some(format!("{}@{}", pool.name, pool.version));
        }
    }
}

/// A pool that several files tell of is one, as php-fpm reads them.
fn read_pool(version: &str, text: &str, pools: &mut Vec<Pool>) {
    for line in lines(Dialect::Ini, text) {
        if line.section.is_empty() || line.section == "global" {
            continue;
        }
        let is_it = |pool: &Pool| pool.version == version && pool.name == line.section;
        let at = pools.iter().position(is_it).unwrap_or_else(|| {
            let name = line.section.to_owned();
            pools.push(Pool { version: version.to_owned(), name, ..Pool::default() });
            pools.len() - 1
        });
        pools[at].settings.insert(line.name.to_owned(), line.value.to_owned());
    }
}

fn read_ini(text: &str, beginning: &str, machine: &mut Machine) {
    for line in lines(Dialect::Ini, text) {
        let (name, value) = match line.name {
            "zend_extension" | "extension" => {
                let name = line.value.rsplit('/').next().unwrap_or_default();
                (format!("extension.{}", name.trim_end_matches(".so")), "1")
            }
            name => (name.to_owned(), line.value),
        };
        machine.settings.insert(format!("{beginning}{name}"), value.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_that_two_files_tell_of_is_one() {
        let mut pools = Vec::new();
        read_pool(
            "8.2",
            "[global]\npid = x\n[www]\npm = dynamic\npm.max_children = 5\n",
            &mut pools,
        );
        read_pool("8.2", "[www]\npm.max_children = 9\n[b]\npm = static\n", &mut pools);
        assert_eq!(pools.len(), 2);
        assert_eq!((pools[0].children_max(), pools[1].children_max()), (Some(9), None));
        assert_eq!(pools[0].settings["pm"], "dynamic");
    }

    #[test]
    fn a_php_fpm_with_a_file_of_its_own_is_found_by_its_master() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        let at = |path: &str| format!("{}/{path}", folder.path().display());
        put("etc/php/8.2/fpm/pool.d/www.conf", "[www]\npm = static\n");
        put("etc/php/8.2/fpm/php.ini", "memory_limit = 128M\n");
        put(
            "run/wick/php-fpm.conf",
            "; Written by wick at every start.\n[global]\n[wick-1]\npm = static\n",
        );
        put("srv/own.conf", &format!("[global]\ninclude = {}\n", at("srv/pools/*.conf")));
        put("srv/pools/www.conf", "[www]\npm = ondemand\n");
        let process = |pid, path: &str| crate::Process {
            pid,
            name: "php-fpm8.2".into(),
            title: format!("{MASTER}{})", at(path)),
            ..crate::Process::default()
        };
        let processes = vec![
            process(1, "etc/php/8.2/fpm/php-fpm.conf"),
            process(2, "run/wick/php-fpm.conf"),
            process(3, "srv/own.conf"),
            process(4, "srv/gone.conf"),
            crate::Process { title: format!("{MASTER}/elsewhere)"), ..process(5, "") },
        ];
        let mut machine = Machine { processes, ..Machine::default() };
        read_pools(&Root::new(folder.path()), &mut machine);
        let told: Vec<_> = machine
            .pools
            .iter()
            .map(|pool| (pool.version.as_str(), pool.counter(""), pool.keeper, pool.master))
            .collect();
        let expected = [
            ("8.2", "fpm.www.".to_owned(), None, Some(1)),
            ("/run/wick/php-fpm.conf", "fpm.wick-1.".to_owned(), Some(Keeper::Wick), Some(2)),
            ("/srv/own.conf", "fpm.www@/srv/own.conf.".to_owned(), Some(Keeper::Other), Some(3)),
        ];
        assert_eq!(told, expected);
        assert_eq!(machine.set("php@/srv/own.conf.memory_limit"), Some("128M"));
        assert_eq!(machine.unseen.len(), 1, "{:?}", machine.unseen);
    }
}
