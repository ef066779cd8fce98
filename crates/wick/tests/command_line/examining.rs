//! `wick doctor`: a recorded machine is examined, changed and changed back; status tells how
//! it went.

use std::fs;
use std::path::Path;

use crate::wick::{Wick, open_folder};

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    fs::write(path, text).expect("a file");
}

#[test]
fn a_machine_is_examined_changed_and_changed_back() {
    let folder = open_folder();
    let root = folder.path().join("machine");
    let (at, state) = (root.display().to_string(), folder.path().join("state"));
    let state = state.display().to_string();
    let run = |more: &[&str]| Wick::run(&[&["doctor", "--root", &at], more].concat()).end();

    let blind = run(&[]);
    assert_eq!(blind.status.code(), Some(2), "{}", blind.output);
    assert!(blind.errors.contains("no /proc to read"), "{}", blind.errors);

    put(&root, "recorded/file_systems", "");
    put(&root, "proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n");
    let well = run(&["--all"]);
    assert_eq!(well.status.code(), Some(0), "{}{}", well.output, well.errors);
    assert!(well.output.contains("Nothing to do.") && well.output.contains("Fine, because"));

    put(&root, "proc/sys/net/netfilter/nf_conntrack_max", "1000\n");
    put(&root, "proc/sys/net/netfilter/nf_conntrack_count", "990\n");
    put(&root, "etc/sysctl.d/10-old.conf", "net.ipv4.tcp_sack = 0\n");
    let json = run(&["--format", "json"]);
    assert_eq!(json.status.code(), Some(1), "{}", json.errors);
    let told: serde_json::Value = serde_json::from_str(&json.output).expect("JSON");
    let ids: Vec<_> = (0..2).map(|at| told["findings"][at]["id"].as_str()).collect();
    assert_eq!(ids, [Some("conntrack"), Some("folklore")]);
    assert_eq!(told["findings"][0]["fix"]["changes"][0]["new"], "2000");

    let state = ["--state", &state];
    let unasked = run(&[&["--apply", "1"], &state[..]].concat());
    assert_eq!(unasked.status.code(), Some(2));
    assert!(unasked.errors.contains("say --yes"), "{}", unasked.errors);
    let by_hand = run(&[&["--apply", "2", "--yes"], &state[..]].concat());
    assert!(by_hand.errors.contains("for a person to do"), "{}", by_hand.errors);
    let written = root.join("etc/sysctl.d/99-wick-doctor.conf");
    assert!(!written.exists());

    let apply = ["--apply", "1", "--yes", "--watch", "0s"];
    let applied = run(&[&apply[..], &state[..]].concat());
    assert_eq!(applied.status.code(), Some(0), "{}{}", applied.output, applied.errors);
    assert!(applied.output.contains("+net.netfilter.nf_conntrack_max = 2000\n"));
    let text = fs::read_to_string(&written).expect("it is written");
    assert!(text.ends_with("\nnet.netfilter.nf_conntrack_max = 2000\n"), "{text}");
    // The recording stays as it was; what is written waits to be taken over.
    let again = run(&["--all"]);
    assert!(again.output.contains("its settings are written"), "{}", again.output);
    assert!(!again.output.contains("1. conntrack"), "{}", again.output);
    let back = run(&[&["--rollback"], &state[..]].concat());
    assert_eq!(back.status.code(), Some(0), "{}", back.errors);
    assert!(!written.exists());
    assert_eq!(run(&[&["--rollback"], &state[..]].concat()).status.code(), Some(2));
}
