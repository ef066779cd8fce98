<?php
declare(strict_types=1);
/*
 * One specimen on PHP's built-in server, played from its first page to its last promise.
 * Each method throws what is wrong.
 */

final class SpecimenCheck
{
    private readonly array $facts;
    private readonly string $data;
    private string $origin = '';
    private int $visitors = 0;

    public function __construct(private readonly string $folder)
    {
        $this->facts = json_decode(file_get_contents("$folder/specimen.json"), true, 32, JSON_THROW_ON_ERROR);
        $this->data = sys_get_temp_dir() . '/specimen-check-' . bin2hex(random_bytes(6));
        mkdir($this->data, 0700);
    }

    public function run(): void
    {
        $server = null;
        try {
            $server = $this->start();
            $this->crawl();
            $this->see_signs();
            $this->compare_strangers();
            $this->log_in();
            $this->refuse_wrong_password();
            $this->play_guest();
            $this->fail_for_a_while();
            $this->require_quiet_log();
        } finally {
            if ($server) {
                proc_terminate($server);
                proc_close($server);
            }
            exec('rm -rf ' . escapeshellarg($this->data));
        }
    }

    /* Starts the server on a port that the system chooses. */
    private function start()
    {
        $listener = stream_socket_server('tcp://127.0.0.1:0');
        $address = stream_socket_get_name($listener, false);
        fclose($listener);
        $log = ['file', "$this->data/server.log", 'a'];
        $server = proc_open(
            [PHP_BINARY, '-d', 'error_reporting=-1', '-d', 'display_errors=stderr', '-S', $address, '-t', $this->folder],
            [['file', '/dev/null', 'r'], $log, $log],
            $pipes,
            null,
            ['SPECIMEN_DATA' => $this->data] + getenv()
        );
        for ($tries = 0; $tries < 200; $tries++) {
            if ($connection = @stream_socket_client("tcp://$address", $code, $text, 1)) {
                fclose($connection);
                $this->origin = "http://$address";
                return $server;
            }
            usleep(25_000);
        }
        proc_terminate($server);
        throw new RuntimeException('the server did not start');
    }

    private function visitor(bool $spoiled = false): Visitor
    {
        $jar = "$this->data/jar-" . ++$this->visitors;
        return new Visitor($this->origin, $jar, $this->facts['script'] ?? null, $spoiled);
    }

    /* Every page answers, twice in one session, and the front page links to most of them. */
    private function crawl(): void
    {
        $reader = $this->visitor();
        foreach ([1, 2] as $round) {
            foreach ([...$this->facts['crawl'], ...array_column($this->facts['passes'], 'path')] as $path) {
                $reader->visit($path);
                $this->require($reader->status() === 200, "$path answers {$reader->status()} in round $round");
            }
        }
        foreach ($this->facts['never_shared'] as $path) {
            $reader->visit($path);
            $this->require(in_array($reader->status(), [200, 403], true), "$path answers {$reader->status()}");
        }
        foreach ($this->facts['background'] ?? [] as $path) {
            $reader->visit($path, ['X-Requested-With' => 'XMLHttpRequest']);
            $this->require($reader->status() === 200, "$path answers {$reader->status()} to a script");
        }
        foreach ($this->facts['untouched'] ?? [] as ['page' => $path, 'shows' => $text]) {
            $reader->visit($path);
            $this->require($reader->shows($text), "$path was changed by reading: it does not show $text");
        }
        foreach ($this->facts['never_shown'] ?? [] as ['page' => $path, 'text' => $text]) {
            $reader->visit($path);
            $this->require(!$reader->shows($text), "$path shows a stranger: $text");
        }
    }

    /* What shows that the trap is there: a pattern in the head or body of a stranger's first hit. */
    private function see_signs(): void
    {
        foreach ($this->facts['signs'] as $sign) {
            $reader = $this->visitor();
            $reader->visit($sign['page'], $sign['request'] ?? []);
            $found = preg_match($sign['shows'], $reader->head . $reader->page) === 1;
            $this->require($found, "{$sign['page']} does not show {$sign['shows']}");
        }
    }

    private function compare_strangers(): void
    {
        ['page' => $path, 'differ' => $differ] = $this->facts['strangers'];
        $copies = [];
        for ($count = 0; $count < 6; $count++) {
            $reader = $this->visitor();
            $reader->visit($path);
            $copies[$reader->page] = true;
        }
        $this->require((count($copies) > 1) === $differ, "$path has " . count($copies) . ' forms in six copies');
    }

    /* The log-in, and the private note that nobody else may see. */
    private function log_in(): void
    {
        $login = $this->facts['login'];
        $secret = $this->facts['secret'];
        $member = $this->visitor();
        $member->visit($this->facts['front']);
        $this->require(!$member->shows($login['proof']), 'a stranger is greeted as a member');
        $kept = $this->facts['session_kept']['cookie'] ?? null;
        $before = $kept ? $member->cookie($kept) : '';
        $this->fill_login($member, $login['form']['password']);
        $this->require(!$kept || ($before !== '' && $member->cookie($kept) === $before), 'the session changed its number');
        $member->visit($this->facts['front']);
        $this->require($member->shows($login['proof']), "the front page lacks '{$login['proof']}' after the log-in");

        $note = 'note-' . bin2hex(random_bytes(5)) . ' which is longer than the header';
        $this->keep_note($member, $note);
        $this->require($member->shows($note), 'the account does not show the note');
        foreach ($this->facts['crawl'] as $path) {
            $member->visit($path);
            $shows = $member->shows(substr($note, 0, 24)) && !$member->shows($note);
            $this->require($shows, "$path does not show the note's beginning");
        }
        $stranger = $this->visitor();
        $stranger->visit($this->facts['front']);
        $this->require(!$stranger->shows(substr($note, 0, 15)), 'a stranger sees the note');
        $this->refuse_wrong_token($member);
        if (isset($this->facts['dies_with'])) {
            $member->visit($this->facts['front'], $this->facts['dies_with']);
            $this->require(!$member->shows($login['proof']), 'the session outlives what it is bound to');
        }
    }

    /* The same session with every token turned round may not change the note. */
    private function refuse_wrong_token(Visitor $member): void
    {
        $this->keep_note($member->spoiled_twin(), 'written with a wrong token');
        $member->visit($this->facts['secret']['page']);
        $this->require(!$member->shows('written with a wrong token'), 'a wrong token was accepted for the note');
    }

    private function refuse_wrong_password(): void
    {
        $guesser = $this->visitor();
        $this->fill_login($guesser, 'looking-glass');
        $guesser->visit($this->facts['front']);
        $this->require(!$guesser->shows($this->facts['login']['proof']), 'a wrong password was accepted');
    }

    private function fill_login(Visitor $visitor, string $password): void
    {
        $login = $this->facts['login'];
        $visitor->visit($login['page']);
        $visitor->fill($login['user_field'], $login['form']['user']);
        $visitor->fill($login['password_field'], $password);
        sleep($login['wait_seconds'] ?? 0);
        $visitor->click($login['submit']);
    }

    private function keep_note(Visitor $visitor, string $note): void
    {
        $secret = $this->facts['secret'];
        $visitor->visit($secret['page']);
        $visitor->fill($secret['field'], $note);
        sleep($secret['wait_seconds'] ?? 0);
        $visitor->click($secret['submit']);
        $visitor->visit($secret['page']);
    }

    private function play_guest(): void
    {
        $guest = $this->facts['guest'];
        if ($guest['token']) {
            $this->require_refusal($guest, true, 'a wrong token was accepted from a guest');
        }
        foreach ($this->facts['refused'] ?? [] as $play) {
            $this->require_refusal($play, false, "accepted, although {$play['reason']}");
        }
        foreach ([$guest, ...$this->facts['accepted'] ?? []] as $play) {
            $this->play_steps($this->visitor(), $play, false);
        }
    }

    /* A play that the specimen has to stop: it must not reach its end. */
    private function require_refusal(array $play, bool $spoiled, string $sentence): void
    {
        try {
            $this->play_steps($this->visitor($spoiled), $play, $spoiled);
        } catch (RuntimeException) {
            return;
        }
        throw new LogicException($sentence);
    }

    private function play_steps(Visitor $guest, array $play, bool $spoiled): void
    {
        $mark = 'mark' . bin2hex(random_bytes(4));
        $guest->visit($play['page']);
        foreach ($play['steps'] as $step) {
            $value = current($step);
            $value = is_int($value) ? $value : str_replace('{mark}', $mark, $value);
            match (key($step)) {
                'fill' => $guest->fill($value[0], $value[1]),
                'click' => $guest->click($value),
                'visit' => $guest->visit($value),
                'expect' => $this->require($guest->shows($value), "the guest does not see: $value"),
                'lacks' => $this->require(!$guest->shows($value), "the guest still sees: $value"),
                'captcha' => $guest->fill($value, $spoiled ? 'wrong' : $this->captcha($guest)),
                'wait_seconds' => sleep($value),
                'open_elsewhere' => $guest->open_elsewhere($value[0], (int) $value[1]),
                'move_to' => $guest->move_to($value),
            };
        }
    }

    private function captcha(Visitor $guest): string
    {
        ['cookie' => $cookie, 'file' => $file] = $this->facts['captcha'];
        return file_get_contents("$this->data/" . str_replace('{cookie}', $guest->cookie($cookie), $file));
    }

    /* A fault that a file in the data folder brings about, and that goes away with it. */
    private function fail_for_a_while(): void
    {
        if (!isset($this->facts['fault'])) {
            return;
        }
        ['file' => $file, 'shows' => $text] = $this->facts['fault'];
        foreach ([true, false] as $fails) {
            $fails ? touch("$this->data/$file") : unlink("$this->data/$file");
            $reader = $this->visitor();
            $reader->visit($this->facts['front']);
            $this->require($reader->shows($text) === $fails, "$file does not bring about, or end, the fault");
        }
    }

    private function require_quiet_log(): void
    {
        $complaint = '/^.*(?:Warning|Notice|Deprecated|Fatal error|Parse error).*$/m';
        $found = preg_match($complaint, file_get_contents("$this->data/server.log"), $line);
        $this->require($found === 0, 'PHP complains: ' . ($line[0] ?? ''));
    }

    private function require(bool $holds, string $sentence): void
    {
        if (!$holds) {
            throw new RuntimeException($sentence);
        }
    }
}
