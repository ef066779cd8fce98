//! What a path stands for in a site's folder: a script, a file, a folder, nothing.
//!
//! In: a [`SitePath`] and the [`Ground`] that the site lies on. Out: a [`Target`].
//! Law: RFC 3875 §4.1.5, §4.1.13; for the rest, what PHP sites are used to from
//! Apache and nginx.
//! Invariants: 1. What is run is a regular file whose own name ends in `.php`;
//! nothing behind a picture's name is ever run. 2. Nothing is run below a folder
//! that visitors upload to. 3. A script is never handed out as text.
//! 4. What a `.htaccess` denies to everybody is refused, whatever would answer.
//! 5. A script that is missing is answered by no other one.
//!
//! Symbolic links are followed, also out of the folder: Debian's own packages lay
//! out their sites with links to `/etc` and `/var/lib`, and whoever can make a
//! link in a site's folder can make a script there too.
//! Start at [`resolve`].

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Refusal;
use crate::ground::{Ground, Kind};
use crate::htaccess::{self, Rules};
use crate::path::{SitePath, is_dot_name};

/// A site's folder and what is special about it.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
    /// Whether scripts are run; if not, they are refused.
    pub(crate) runs_php: bool,
    /// Names of folders, at any depth, below which no script is run.
    pub(crate) upload_folders: Vec<String>,
}

/// Folders that visitors' files commonly go to. A script there was not put there by
/// the site's owner. Only names that apps don't also use for scripts of their own:
/// `images`, `media`, `files` and `cache` would break some, so they are left out;
/// Drupal's `sites/NAME/files` is known by its place. The guard pages that apps put
/// there (an empty `index.php`) are refused as well, which is what they are for.
pub(crate) const UPLOAD_FOLDERS: [&str; 9] = [
    "uploads",
    "upload",
    "attachments",
    "avatars",
    "customavatars",
    "userfiles",
    "user_uploads",
    "userpics",
    "internal_data",
];

/// A script to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// The file.
    pub(crate) file: PathBuf,
    /// Its path within the site, decoded: `SCRIPT_NAME`.
    pub(crate) name: Vec<u8>,
    /// What follows it in the path, decoded; begins with a slash.
    pub(crate) path_info: Option<Vec<u8>>,
    /// Whether it is asked in place of a file that is missing, so that a page is no answer.
    pub(crate) is_for_a_file: bool,
}

/// What a path stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Script(Script),
    File(PathBuf),
    /// A folder named without its slash; the same path with it, percent-encoded.
    Slash(String),
    Missing,
}

/// Finds what `path` stands for.
pub(crate) fn resolve(
    path: &SitePath,
    layout: &Layout,
    ground: &dyn Ground,
) -> Result<Target, Refusal> {
    let mut search = Search { path, layout, ground, rules: Vec::new() };
    let names = path.file_segments();
    let mut here = layout.root.clone();
    search.enter(&here)?;
    for (at, name) in names.iter().enumerate() {
        here.push(OsStr::from_bytes(name));
        let found = ground.kind(&here);
        if found != Kind::Missing && is_dot_name(name, at == 0) {
            return Err(Refusal::DotFile);
        }
        match found {
            Kind::Folder => search.enter(&here)?,
            Kind::File => return search.file(here, at + 1),
            Kind::Other => return Err(Refusal::NotRegular),
            Kind::Missing => return search.front_controller(at),
        }
    }
    if names.len() == path.segments.len() {
        search.folder(here)
    } else {
        search.front_controller(names.len())
    }
}

struct Search<'a> {
    path: &'a SitePath,
    layout: &'a Layout,
    ground: &'a dyn Ground,
    /// What each folder on the way says about access, from the root on.
    rules: Vec<Option<Arc<Rules>>>,
}

impl Search<'_> {
    fn enter(&mut self, folder: &Path) -> Result<(), Refusal> {
        self.rules.push(self.ground.rules(folder)?);
        Ok(())
    }

    /// Refuses what the first `folders` folders on the way deny: the file of this name
    /// in the last of them; none stands for the folder itself.
    fn check(&self, folders: usize, name: Option<&[u8]>) -> Result<(), Refusal> {
        let rules = self.rules.iter().take(folders).flatten().map(Arc::as_ref);
        if htaccess::denies(rules, name) { Err(Refusal::Denied) } else { Ok(()) }
    }

    /// A file at the first `depth` segments.
    fn file(&self, file: PathBuf, depth: usize) -> Result<Target, Refusal> {
        let rest = &self.path.segments[depth..];
        let is_whole = rest.is_empty() && !self.path.is_folder;
        let name = file.file_name().unwrap_or_default().as_bytes();
        self.check(depth, Some(name))?;
        if self.layout.runs_php && name.ends_with(b".php") {
            let path_info = (!is_whole).then(|| {
                let mut info = join(rest);
                if self.path.is_folder && !info.ends_with(b"/") {
                    info.push(b'/');
                }
                info
            });
            let names = &self.path.segments[..depth];
            return self.script(file, names, path_info).map(Target::Script);
        }
        if !is_whole {
            // Something behind a picture's name: a page's name at most, never a script.
            return self.front_controller(depth - 1);
        }
        if holds_source(name) { Err(Refusal::Source) } else { Ok(Target::File(file)) }
    }

    /// A folder at all of the path's segments.
    fn folder(&self, folder: PathBuf) -> Result<Target, Refusal> {
        self.check(self.rules.len(), None)?;
        let indexes: &[&str] = match self.layout.runs_php {
            true => &["index.php", "index.html", "index.htm"],
            false => &["index.html", "index.htm"],
        };
        let index = indexes.iter().find(|index| self.is_file(&folder.join(index)));
        let Some(index) = index else {
            return self.front_controller(self.path.segments.len());
        };
        if !self.path.is_folder {
            return Ok(Target::Slash(percent_encode(&join(&self.path.segments)) + "/"));
        }
        self.check(self.rules.len(), Some(index.as_bytes()))?;
        let file = folder.join(index);
        if !index.ends_with(".php") {
            return Ok(Target::File(file));
        }
        let mut names = self.path.segments.clone();
        names.push(index.as_bytes().to_vec());
        self.script(file, &names, None).map(Target::Script)
    }

    /// The script that answers for paths which are no files: the `index.php` nearest
    /// to the root. Not the nearest to the path: themes and plug-ins keep files of
    /// that name which are not meant to be run. `depth` folders are known to exist.
    /// For a script that is missing nothing answers: no app that makes up its paths
    /// makes up such, and one that doesn't would show its front page under any name.
    fn front_controller(&self, depth: usize) -> Result<Target, Refusal> {
        self.check(self.rules.len(), None)?;
        let is_script = |name: &Vec<u8>| name.ends_with(b".php") && !is_title(name);
        if !self.layout.runs_php || self.path.segments[depth..].iter().any(is_script) {
            return Ok(Target::Missing);
        }
        let mut file = self.layout.root.clone();
        for folders in 0..=depth {
            if folders > 0 {
                file.push(OsStr::from_bytes(&self.path.segments[folders - 1]));
            }
            let index = file.join("index.php");
            if self.is_file(&index) {
                self.check(folders + 1, Some(b"index.php"))?;
                let mut names = self.path.segments[..folders].to_vec();
                names.push(b"index.php".to_vec());
                let Ok(script) = self.script(index, &names, None) else { break };
                let is_for_a_file = self.is_for_a_file(depth, folders);
                return Ok(Target::Script(Script { is_for_a_file, ..script }));
            }
        }
        Ok(Target::Missing)
    }

    /// Whether the path can only be that of a missing file: its name ends like a picture's, a
    /// style sheet's or a script's, and the folder it would lie in, the `depth`th, is there.
    /// Pages with such names, as `/wiki/Node.js`, lie in folders that apps make up. Only right
    /// beside the front controller, in the folder `folders`, may pages lie among files, and of
    /// all such endings it is `.js` that titles have.
    fn is_for_a_file(&self, depth: usize, folders: usize) -> bool {
        let [name] = &self.path.segments[depth..] else { return false };
        let is_page = self.path.is_folder
            || is_title(name)
            || name.contains(&b'/')
            || (folders == depth && name.ends_with(b".js"));
        !is_page && has_static_ending(name)
    }

    fn script(
        &self,
        file: PathBuf,
        names: &[Vec<u8>],
        path_info: Option<Vec<u8>>,
    ) -> Result<Script, Refusal> {
        if self.is_upload_folder(&names[..names.len() - 1]) {
            return Err(Refusal::UploadedScript);
        }
        Ok(Script { file, name: join(names), path_info, is_for_a_file: false })
    }

    fn is_upload_folder(&self, folders: &[Vec<u8>]) -> bool {
        let is_drupal = |three: &[Vec<u8>]| three[0] == b"sites" && three[2] == b"files";
        let is_named = |folder: &Vec<u8>| {
            self.layout.upload_folders.iter().any(|n| folder.eq_ignore_ascii_case(n.as_bytes()))
        };
        folders.iter().any(is_named) || folders.windows(3).any(is_drupal)
    }

    fn is_file(&self, path: &Path) -> bool {
        self.ground.kind(path) == Kind::File
    }
}

/// Whether a file holds PHP that its owner means to be run, not read: other endings
/// that servers run, and copies that editors and people leave behind.
fn holds_source(name: &[u8]) -> bool {
    const ENDINGS: [&str; 11] =
        ["php", "php3", "php4", "php5", "php7", "php8", "phtml", "pht", "phar", "phps", "inc"];
    const COPIES: [&str; 9] = ["bak", "old", "orig", "save", "swp", "swo", "tmp", "dist", "copy"];
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let mut endings = name.rsplit('.');
    let last = endings.next().unwrap_or_default();
    let before = endings.next().unwrap_or_default();
    ENDINGS.contains(&last)
        || (COPIES.contains(&last) && ENDINGS.contains(&before))
        || last.strip_suffix('~').is_some_and(|last| ENDINGS.contains(&last))
}

/// Whether a name is that of a wiki's page about a file, as in `/wiki/File:Photo.jpg` and
/// `/wiki/Manual:LocalSettings.php`: no file of a site has a colon in its name.
fn is_title(name: &[u8]) -> bool {
    name.contains(&b':')
}

/// Whether a name ends as those of pages don't: like that of a picture, a film, a font, a
/// style sheet or a script for browsers. Not what apps make on demand or ask a log-in for,
/// as `.pdf`, `.csv` and `.zip`.
pub(crate) fn has_static_ending(name: &[u8]) -> bool {
    const ENDINGS: [&[u8]; 22] = [
        b"avif", b"bmp", b"css", b"eot", b"gif", b"ico", b"jpeg", b"jpg", b"js", b"map", b"mjs",
        b"mp3", b"mp4", b"otf", b"png", b"svg", b"ttf", b"wasm", b"webm", b"webp", b"woff",
        b"woff2",
    ];
    let Some(dot) = name.iter().rposition(|&byte| byte == b'.') else { return false };
    ENDINGS.iter().any(|ending| ending.eq_ignore_ascii_case(&name[dot + 1..]))
}

fn join(names: &[Vec<u8>]) -> Vec<u8> {
    let mut joined = Vec::new();
    for name in names {
        joined.push(b'/');
        joined.extend_from_slice(name);
    }
    joined
}

/// Encodes a decoded path for a `Location`; one slash at its start, so it names no host.
fn percent_encode(path: &[u8]) -> String {
    let mut encoded = String::with_capacity(path.len() + 8);
    for &byte in path {
        if byte.is_ascii_alphanumeric() || b"/-._~!$'()*,;:@&=+".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
