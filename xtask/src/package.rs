//! What is handed to machines that don't build: a Debian package, and a binary that needs no
//! library of the system.
//!
//! In: the workspace. Out: files in `target/package/`. The contents of the package are one
//! table below; manual pages and completions are made by the binary itself.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::steps::root;

/// What a binary without libraries is made for, the better one first.
const MUSL: &str = "x86_64-unknown-linux-musl";
const GNU: &str = "x86_64-unknown-linux-gnu";

/// From the repository, to the machine.
const FILES: &[(&str, &str, u32)] = &[
    ("target/release/wick", "usr/bin/wick", 0o755),
    ("packaging/wick.service", "lib/systemd/system/wick.service", 0o644),
    ("packaging/wick.socket", "lib/systemd/system/wick.socket", 0o644),
    ("packaging/wick.toml", "etc/wick/wick.toml", 0o644),
    ("README.md", "usr/share/doc/wick/README.md", 0o644),
    ("CHANGELOG.md", "usr/share/doc/wick/CHANGELOG.md", 0o644),
    ("docs/settings.md", "usr/share/doc/wick/settings.md", 0o644),
    ("packaging/grafana/wick.json", "usr/share/doc/wick/grafana.json", 0o644),
    ("packaging/copyright", "usr/share/doc/wick/copyright", 0o644),
    ("packaging/postinst", "DEBIAN/postinst", 0o755),
    ("packaging/prerm", "DEBIAN/prerm", 0o755),
    ("packaging/postrm", "DEBIAN/postrm", 0o755),
    ("packaging/conffiles", "DEBIAN/conffiles", 0o644),
];
const MANUAL: &str = "usr/share/man/man1";
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "usr/share/bash-completion/completions/wick"),
    ("zsh", "usr/share/zsh/vendor-completions/_wick"),
    ("fish", "usr/share/fish/vendor_completions.d/wick.fish"),
];

/// `cargo xtask package`.
pub(crate) fn debian(_: &[String]) -> Result<(), String> {
    run(cargo(&["build", "--release", "--locked", "--package", "wick"]))?;
    let out = root().join("target/package");
    let tree = out.join("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree).map_err(|error| told(&tree, &error))?;
    }
    for (from, to, mode) in FILES {
        let text = fs::read(root().join(from)).map_err(|error| told(Path::new(from), &error))?;
        write(&tree.join(to), &text, *mode)?;
    }
    // Names of functions stay, for whoever reports a panic.
    run(Command::new("strip").arg("--strip-debug").arg(tree.join("usr/bin/wick")))?;
    let wick = root().join("target/release/wick");
    let manual = tree.join(MANUAL);
    make_folder(&manual)?;
    run(Command::new(&wick).arg("manual").arg(&manual))?;
    let pages = fs::read_dir(&manual).map_err(|error| told(&manual, &error))?.flatten();
    for page in pages {
        run(Command::new("gzip").args(["-9n"]).arg(page.path()))?;
    }
    for (shell, to) in COMPLETIONS {
        let text = output(Command::new(&wick).args(["completions", shell]))?;
        write(&tree.join(to), text.as_bytes(), 0o644)?;
    }
    let (version, architecture) = (version(&wick)?, architecture()?);
    let control = control(&version, &architecture, &needs()?, kibibytes(&tree)?);
    write(&tree.join("DEBIAN/control"), control.as_bytes(), 0o644)?;
    let package = out.join(format!("wick_{version}_{architecture}.deb"));
    run(Command::new("dpkg-deb")
        .args(["--root-owner-group", "-Zxz", "--build"])
        .arg(&tree)
        .arg(&package))?;
    println!("made {}", package.display());
    Ok(())
}

/// `cargo xtask static`: with musl, or where that target isn't installed with the C library of
/// this system, which looks up names of hosts and users by parts of the same version.
pub(crate) fn r#static(_: &[String]) -> Result<(), String> {
    let folder =
        output(Command::new("rustc").args(["--print", "target-libdir"]).args(["--target", MUSL]))?;
    let target = if Path::new(folder.trim()).exists() { MUSL } else { GNU };
    let build = ["build", "--release", "--locked", "--package", "wick", "--target", target];
    // Named by its target, so that what the build itself runs is made as ever.
    run(cargo(&build).env("RUSTFLAGS", "-Ctarget-feature=+crt-static"))?;
    let wick = root().join("target").join(target).join("release/wick");
    if output(Command::new(&wick).arg("--version"))?.is_empty() {
        return Err(format!("{} doesn't run", wick.display()));
    }
    println!("made {}", wick.display());
    if target == GNU {
        println!(
            "It holds this system's C library, and finds hosts and users by name where the same \
             version of it is installed: \"rustup target add {MUSL}\", and Debian's musl-tools, \
             make one that needs nothing."
        );
    }
    Ok(())
}

fn control(version: &str, architecture: &str, needs: &str, kibibytes: u64) -> String {
    format!(
        "Package: wick\nVersion: {version}\nArchitecture: {architecture}\n\
         Maintainer: The Wick project <wick@localhost>\nInstalled-Size: {kibibytes}\n\
         Depends: {needs}\nRecommends: php-fpm\nSuggests: mariadb-server | postgresql\n\
         Section: httpd\nPriority: optional\n\
         Description: server and cache that makes an ordinary dynamic site fast\n \
         Serves a PHP site or stands before any HTTP origin, shares pages that an app makes\n \
         for one visitor at a time among strangers, and keeps them fresh by the changes of the\n \
         site's database. No patch, plugin or setting is needed.\n"
    )
}

/// The C library that it was linked with, or a newer one; there is no other.
fn needs() -> Result<String, String> {
    let libc = output(Command::new("getconf").arg("GNU_LIBC_VERSION"))?;
    let version = libc.trim().strip_prefix("glibc ").ok_or("the C library is not glibc")?;
    Ok(format!("libc6 (>= {version}), libgcc-s1"))
}

fn version(wick: &Path) -> Result<String, String> {
    let text = output(Command::new(wick).arg("--version"))?;
    let version = text.trim().strip_prefix("wick ").ok_or("wick --version says something else")?;
    Ok(version.to_owned())
}

fn architecture() -> Result<String, String> {
    Ok(output(Command::new("dpkg").arg("--print-architecture"))?.trim().to_owned())
}

fn kibibytes(folder: &Path) -> Result<u64, String> {
    let text = output(Command::new("du").args(["-sk"]).arg(folder))?;
    let number = text.split_whitespace().next().unwrap_or_default();
    number.parse().map_err(|_| format!("du says {text}"))
}

fn write(path: &Path, text: &[u8], mode: u32) -> Result<(), String> {
    make_folder(path.parent().unwrap_or(path))?;
    fs::write(path, text).map_err(|error| told(path, &error))?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|error| told(path, &error))
}

/// With all above it, as a package has them whatever the builder's mask.
fn make_folder(path: &Path) -> Result<(), String> {
    let missing: Vec<PathBuf> =
        path.ancestors().take_while(|one| !one.exists()).map(Path::to_owned).collect();
    for folder in missing.iter().rev() {
        fs::create_dir(folder).map_err(|error| told(folder, &error))?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
            .map_err(|error| told(folder, &error))?;
    }
    Ok(())
}

fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root()).args(words);
    command
}

fn run(mut command: impl std::borrow::BorrowMut<Command>) -> Result<(), String> {
    let command = command.borrow_mut();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

fn output(command: &mut Command) -> Result<String, String> {
    match command.output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

fn told(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
