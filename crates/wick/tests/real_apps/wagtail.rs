//! Wagtail, which is Django: an HTTP origin whose forms bear a token that is masked anew
//! at each reading, and a cookie that has to match it.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::apps::{AppFolder, InstallError, PASSWORD, USER, run};
use crate::person::{GuestHands, Hands};
use crate::strangers::{self, Case, LogIn};
use crate::visitor::{Page, Visitor};
use crate::wick::until;

const PACKAGE: &str = "wagtail==6.3.8";
/// Kept from run to run: packages come from PyPI, and none of them is changed.
const PACKAGES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/wagtail-6.3.8");

const CASE: Case = Case {
    name: "Wagtail",
    start: &["/"],
    pages: [30, 20],
    own: &[],
    log_in: LogIn {
        page: "/admin/login/",
        // With no-store, unlike what strangers read.
        is_shared: false,
        mark: "name=\"password\"",
        fields: &[("username", USER), ("password", PASSWORD)],
        known_on: "/candle-3/",
        proof: "wagtail-userbar",
    },
    hands: Some(Hands {
        fields: &[("input[name=username]", USER), ("input[name=password]", PASSWORD)],
        button: "form button[type=submit]",
        proof: "wagtail-userbar, #wagtail-sidebar",
        is_never_kept: false,
    }),
    guest_hands: Some(GuestHands {
        page: "/candle-2/",
        fields: &[("[name=message]", "Does it burn in a window?")],
        proof: "Heard: Does it burn in a window?",
    }),
    guest_page: "/candle-2/",
    guest,
};

/// A message by the form on the page, then a search.
fn guest(guest: &Visitor, page: Page) {
    let told = guest.submit(&page, "name=\"message\"", &[("message", "Is it still burning?")]);
    told.expect("a guest's message", "Heard: Is it still burning?");
    let form = guest.get("/search/").expect("a page with a search", "name=\"query\"");
    let found = guest.submit(&form, "name=\"query\"", &[("query", "candle")]);
    found.expect("a search", "/candle-7/");
}

/// What is written over the site that Wagtail makes to begin with.
const FILES: &[(&str, &str)] = &[
    (
        "candles/settings/local.py",
        "DEBUG = False\nSTORAGES = {'default': {'BACKEND': 'django.core.files.storage.\
         FileSystemStorage'}, 'staticfiles': {'BACKEND': 'django.contrib.staticfiles.storage.\
         StaticFilesStorage'}}\n",
    ),
    (
        "home/models.py",
        "from django.shortcuts import render\nfrom wagtail.models import Page\n\n\n\
         class HomePage(Page):\n\
         \x20   def serve(self, request):\n\
         \x20       heard = request.POST.get('message', '')\n\
         \x20       context = self.get_context(request) | {'heard': heard}\n\
         \x20       return render(request, self.get_template(request), context)\n",
    ),
    // Without scripts: where there are any, and Django's cookie that scripts may read, a page
    // is not shared.
    (
        "candles/templates/base.html",
        "{% load wagtailuserbar %}<!DOCTYPE html><html lang=\"en\"><head><title>{{ page.title }}\
         </title></head><body>{% wagtailuserbar %}{% block content %}{% endblock %}</body></html>\n",
    ),
    (
        "home/templates/home/home_page.html",
        "{% extends 'base.html' %}{% load wagtailcore_tags %}{% block content %}\
         <h1>{{ page.title }}</h1><p>{{ page.search_description }}</p>\
         <form method=\"post\">{% csrf_token %}<input name=\"message\"></form>\
         {% if heard %}<p>Heard: {{ heard }}</p>{% endif %}\
         <ul>{% for child in page.get_children.live %}\
         <li><a href=\"{% pageurl child %}\">{{ child.title }}</a></li>{% endfor %}</ul>\
         <a href=\"/\">Home</a> <a href=\"/search/\">Search</a>{% endblock %}\n",
    ),
    (
        "fill.py",
        "import sys\n\
         from django.contrib.auth import get_user_model\n\
         from home.models import HomePage\n\
         user, password = sys.argv[-2:]\n\
         get_user_model().objects.create_superuser(user, f'{user}@example.org', password)\n\
         home = HomePage.objects.get()\n\
         for number in range(1, 25):\n\
         \x20   words = f'What is to be said of candle {number}. ' * 8\n\
         \x20   home.add_child(instance=HomePage(title=f'Candle {number}', \
         slug=f'candle-{number}', search_description=words))\n",
    ),
];

/// A running server; dropping it ends it.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The packages, from PyPI where they are not there yet.
fn packages() -> Result<PathBuf, InstallError> {
    let folder = Path::new(PACKAGES);
    let is_whole = folder.join("whole");
    if !is_whole.exists() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
        let mut install = Command::new(folder.join("bin/pip"));
        install.args(["install", "--quiet", "--disable-pip-version-check", "--timeout", "20"]);
        run(install.arg(PACKAGE))?;
        std::fs::write(is_whole, "").expect("the folder is ours");
    }
    Ok(folder.join("bin"))
}

fn installed(bin: &Path) -> Result<AppFolder, InstallError> {
    let folder = AppFolder::new()?;
    run(Command::new(bin.join("wagtail")).args(["start", "candles"]).arg(folder.root()))?;
    for (path, text) in FILES {
        folder.write(&format!("site/{path}"), text)?;
    }
    run(manage(bin, &folder).args(["migrate", "--verbosity", "0"]))?;
    let fill = format!(
        "import sys; sys.argv = ['', '{USER}', '{PASSWORD}']; exec(open('fill.py').read())"
    );
    run(manage(bin, &folder).args(["shell", "--command", &fill]))?;
    Ok(folder)
}

fn manage(bin: &Path, folder: &AppFolder) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(bin.join("python")).arg("manage.py");
    command.current_dir(folder.root());
    command
}

fn serve(bin: &Path, folder: &AppFolder) -> Server {
    let address = loopback::address().to_string();
    let mut command = manage(bin, folder);
    command.args(["runserver", "--noreload", "--insecure", &address]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("it can be started");
    until("Wagtail", || TcpStream::connect(&address).is_ok());
    Server { child, address }
}

#[test]
fn strangers_of_wagtail_are_served_from_memory() {
    let bin = match packages() {
        Ok(bin) => bin,
        Err(error) => {
            eprintln!(
                "\n*** {PACKAGE} can't be installed ({error}): THIS TEST CHECKS NOTHING ***\n"
            );
            return;
        }
    };
    let folder = installed(&bin).expect("Wagtail makes a site");
    let server = serve(&bin, &folder);
    strangers::check(&CASE, &format!("http://{}", server.address));
}
