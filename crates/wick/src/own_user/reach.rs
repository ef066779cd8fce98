//! What a user could come to, as far as permission bits tell.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::account::Account;
use crate::plan::{Plan, Source};

/// The folders that a plan needs and this user can't come to or read.
pub(super) fn out_of_reach(plan: &Plan, account: &Account) -> Vec<PathBuf> {
    let folders = plan.sites.iter().filter_map(|site| match &site.source {
        Source::Folder(folder) => Some(folder.as_path()),
        Source::Http(_) => None,
    });
    let closed = folders.filter(|folder| !reads(account, folder)).map(Path::to_owned);
    let state = nearest(&plan.state).filter(|there| !comes_to(account, there));
    closed.chain(state).collect()
}

/// The sockets of php-fpm that a plan names and this user can't call. Lists of rights beside
/// the bits (ACLs) may still let it.
pub(super) fn sockets_out_of_reach(plan: &Plan, account: &Account) -> Vec<PathBuf> {
    let named = plan.sites.iter().filter_map(|site| site.php.as_ref()?.strip_prefix("unix:"));
    named.map(PathBuf::from).filter(|socket| !calls(account, socket)).collect()
}

fn calls(account: &Account, socket: &Path) -> bool {
    let Ok(socket) = fs::canonicalize(socket) else { return true };
    comes_to(account, &socket) && may(account, &socket, 0o2)
}

/// The path, or what is there of the way to it.
fn nearest(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|path| fs::canonicalize(path).ok())
}

fn reads(account: &Account, path: &Path) -> bool {
    // What isn't there is told of elsewhere.
    let Ok(path) = fs::canonicalize(path) else { return true };
    comes_to(account, &path) && may(account, &path, if path.is_dir() { 0o5 } else { 0o4 })
}

/// Whether all folders above a path let the user through.
fn comes_to(account: &Account, path: &Path) -> bool {
    path.ancestors().skip(1).all(|folder| may(account, folder, 0o1))
}

fn may(account: &Account, path: &Path, bits: u32) -> bool {
    let Ok(data) = fs::metadata(path) else { return false };
    let shift = match () {
        () if data.uid() == account.uid => 6,
        () if account.groups.contains(&data.gid()) => 3,
        () => 0,
    };
    data.mode() >> shift & bits == bits
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn bits_of_each_folder_on_the_way_count() {
        let folder = tempfile::TempDir::new().expect("a temporary folder");
        let site = folder.path().join("a/site");
        fs::create_dir_all(&site).expect("it is ours");
        let own = fs::metadata(&site).expect("it is there");
        let account = |uid, gid| Account { name: "it".into(), uid, gid, groups: vec![gid] };
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
        };
        for (above, mode, uid, gid, expected) in [
            (0o755, 0o755, 4242, 4242, true),
            (0o700, 0o755, 4242, 4242, false),
            (0o711, 0o755, 4242, 4242, true),
            (0o711, 0o750, 4242, 4242, false),
            (0o711, 0o750, 4242, own.gid(), true),
            (0o711, 0o705, 4242, own.gid(), false),
            (0o700, 0o500, own.uid(), 4242, true),
        ] {
            // The temporary folder itself is closed to others as a rule.
            set(folder.path(), 0o755);
            set(&folder.path().join("a"), above);
            set(&site, mode);
            let reads = reads(&account(uid, gid), &site);
            assert_eq!(reads, expected, "{above:o} {mode:o} {uid} {gid}");
        }
        assert!(reads(&account(4242, 4242), &folder.path().join("none")));
    }

    #[test]
    fn a_socket_is_called_by_who_may_write_to_it() {
        let folder = tempfile::TempDir::new().expect("a temporary folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        let socket = folder.path().join("php.sock");
        let _open = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        let own = fs::metadata(&socket).expect("it is there").gid();
        for (mode, gid, expected) in
            [(0o660, 4242, false), (0o660, own, true), (0o666, 4242, true), (0o640, own, false)]
        {
            fs::set_permissions(&socket, fs::Permissions::from_mode(mode)).expect("it is ours");
            let account = Account { name: "it".into(), uid: 4242, gid, groups: vec![gid] };
            assert_eq!(calls(&account, &socket), expected, "{mode:o} {gid}");
        }
        let account = Account { name: "it".into(), uid: 4242, gid: 4242, groups: vec![] };
        assert!(calls(&account, &folder.path().join("none")), "that is told of elsewhere");
    }
}
