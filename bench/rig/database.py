"""A MariaDB of a measurement's own."""

import shutil
import subprocess

from rig import machine, scope
from rig.scope import Void


class Database:
    """A MariaDB of its own with an empty database `bench`, asked by its own client. Whoever comes
    as root needs no password; over TCP nobody comes unless `settings` open a port."""

    def __init__(self, here, name, settings, tmpdir=None, cores=None):
        self.folder = here.folder / name
        self.folder.mkdir()
        if machine.is_root():
            shutil.chown(self.folder, "mysql", "mysql")
        self.socket = self.folder / "s"
        data = self.folder / "data"
        install = [machine.program("mariadb-install-db"), "--no-defaults", f"--datadir={data}"]
        # Who isn't root is who they are.
        user = ["--user=mysql"] if machine.is_root() else []
        scope.run([*install, *user, "--auth-root-authentication-method=normal"])
        command = [machine.program("mariadbd"), "--no-defaults", f"--datadir={data}", *user]
        command += [f"--socket={self.socket}", "--skip-networking", f"--tmpdir={tmpdir or self.folder}"]
        self.process = here.start(name, [*command, *settings], cores)
        scope.wait_until(self.answers, self.process, "an answer")
        subprocess.run([*self._client(), "--execute=CREATE DATABASE bench"], check=True)

    def _client(self):
        return [machine.program("mariadb"), "--no-defaults", f"--socket={self.socket}", "--user=root"]

    def answers(self):
        """Whether it does."""
        asked = [*self._client(), "--execute=SELECT 1"]
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0

    def ask(self, statements):
        done = subprocess.run(
            [*self._client(), "--batch", "--skip-column-names", "bench"],
            input=statements, capture_output=True, text=True, check=False,
        )
        if done.returncode != 0:
            raise Void(f"MariaDB: {done.stderr.strip()[:300]}")
        return done.stdout

    def status(self, name):
        return int(self.ask(f"SHOW GLOBAL STATUS LIKE '{name}'").split()[-1])
