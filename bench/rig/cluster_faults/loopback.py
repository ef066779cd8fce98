"""The same machines as addresses of this one's loopback, for who has no namespaces.

What a network does can't be done to them: links are never cut, late or lossy. Processes are killed
and paused, and their clocks jump, as anywhere.
"""


class Loopback:
    """Places by name, as a `Network` has them."""

    can_part = False

    def __init__(self, here, _seed, names):
        self.places = {name: Place(here, name, at) for at, name in enumerate(names, 1)}

    def enter(self, _name):
        """Everybody reaches every place from everywhere."""


class Place:
    """An address of its own; what starts here is to listen there."""

    def __init__(self, here, name, number):
        self.here, self.name, self.folder = here, name, here.folder
        self.address = f"127.99.0.{number}"

    def start(self, name, command, cores=None, environment=None):
        """As a scope starts it."""
        return self.here.start(name, command, cores, environment)
