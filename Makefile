# The few commands that a newcomer needs. Each installs what it is missing.

CARGO ?= cargo

.PHONY: help demo test bench fuzz

help:
	@echo 'make demo    DokuWiki before and behind Wick, with the numbers; up until Ctrl-C'
	@echo '             (APP=wordpress or APP=board shows another)'
	@echo 'make test    every check and test, fuzzing included (about fifty minutes on two cores)'
	@echo 'make bench   speed and memory beside nginx and Varnish; writes bench/README.md'
	@echo 'make fuzz    each fuzz target for ten minutes (SECONDS_EACH=N to change that)'

APP ?= dokuwiki
demo:
	@scripts/setup demo $(APP)
	$(CARGO) build --release --locked --package wick
	@exec target/release/wick demo --app $(APP)

# What a compiler keeps to be quicker the next time is a third of the disk that the tests need.
test: export CARGO_INCREMENTAL = 0
test:
	@scripts/setup test
	$(CARGO) xtask ci

bench:
	@scripts/setup bench
	$(CARGO) build --release --locked --package wick
	@exec bench/all

SECONDS_EACH ?= 600
fuzz:
	@scripts/setup test
	$(CARGO) xtask fuzz --seconds $(SECONDS_EACH)
