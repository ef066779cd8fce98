//! Users of this machine: found by name, with all groups that they are in.
//!
//! Pure but for [`Account::named`]: `/etc/passwd` and `/etc/group` go in as texts. Users that
//! only a directory service knows are not found.

use std::fs;

/// A user whom a process can become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// All of them, `gid` too.
    pub(crate) groups: Vec<u32>,
}

/// Why there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AccountError {
    #[error(
        "there is no user {0:?} on this machine: make one (useradd --system --user-group {0}), or \
         name another with user = …"
    )]
    NoUser(String),
    #[error("there is no group {0:?} on this machine: name another with group = …")]
    NoGroup(String),
}

impl Account {
    /// The user of this name, with this group as the first if one is named.
    pub(crate) fn named(name: &str, group: Option<&str>) -> Result<Self, AccountError> {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::find(name, group, &read("/etc/passwd"), &read("/etc/group"))
    }

    /// Whoever is there of those that servers run as.
    pub(crate) fn usual(group: Option<&str>) -> Option<Result<Self, AccountError>> {
        let all = ["wick", "www-data"].iter().map(|name| Self::named(name, group));
        all.into_iter().find(|account| !matches!(account, Err(AccountError::NoUser(_))))
    }

    pub(crate) fn is_root(&self) -> bool {
        self.uid == 0
    }

    fn find(
        name: &str,
        group: Option<&str>,
        users: &str,
        groups: &str,
    ) -> Result<Self, AccountError> {
        // name:password:uid:gid:…
        let user = fields(users).find(|fields| fields[0] == name);
        let number = |at: usize| user.as_ref()?.get(at)?.parse::<u32>().ok();
        let (Some(uid), Some(own)) = (number(2), number(3)) else {
            return Err(AccountError::NoUser(name.to_owned()));
        };
        // name:password:gid:members
        let id = |fields: &Vec<&str>| fields.get(2).and_then(|id| id.parse::<u32>().ok());
        let gid = match group {
            None => own,
            Some(group) => fields(groups)
                .find(|fields| fields[0] == group)
                .and_then(|fields| id(&fields))
                .ok_or_else(|| AccountError::NoGroup(group.to_owned()))?,
        };
        let is_member = |fields: &Vec<&str>| {
            fields.get(3).is_some_and(|members| members.split(',').any(|member| member == name))
        };
        let mut all = vec![gid];
        let more = fields(groups).filter(is_member).filter_map(|fields| id(&fields));
        for one in std::iter::once(own).chain(more) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
        Ok(Self { name: name.to_owned(), uid, gid, groups: all })
    }
}

/// What a user is called.
pub(super) fn name_of(uid: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let number = uid.to_string();
    let found = fields(&users).find(|fields| fields.get(2) == Some(&number.as_str()));
    found.map_or_else(|| format!("user {uid}"), |fields| fields[0].to_owned())
}

/// The fields of each line.
fn fields(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().map(|line| line.split(':').collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_with_all_groups() {
        let users = "root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:33::/:\nann:x:1000:1000::/:\nx\n";
        let groups =
            "www-data:x:33:\nann:x:1000:www-data\nadm:x:4:ann,www-data\nssl:x:9:bob\nbad:x\n";
        let find = |name, group| {
            Account::find(name, group, users, groups)
                .map(|account| (account.uid, account.gid, account.groups))
                .map_err(|error| error.to_string())
        };
        for (name, group, expected) in [
            ("www-data", None, Ok((33, 33, vec![33, 1000, 4]))),
            ("www-data", Some("ssl"), Ok((33, 9, vec![9, 33, 1000, 4]))),
            ("ann", None, Ok((1000, 1000, vec![1000, 4]))),
            ("root", None, Ok((0, 0, vec![0]))),
            ("bob", None, Err("there is no user \"bob\"")),
            ("x", None, Err("there is no user \"x\"")),
            ("ann", Some("wheel"), Err("there is no group \"wheel\"")),
            ("ann", Some("bad"), Err("there is no group \"bad\"")),
        ] {
            match (find(name, group), expected) {
                (Err(told), Err(expected)) => assert!(told.starts_with(expected), "{told}"),
                (found, expected) => assert_eq!(found, expected.map_err(str::to_owned), "{name}"),
            }
        }
    }
}
