<?php
declare(strict_types=1);
/*
 * A visitor: curl with a cookie jar, and as much of a browser as the specimens need. It loads a
 * page with its images, fills fields, presses buttons and follows links. Scripts don't run; what
 * a specimen's script would do is said in its specimen.json under "script".
 */

final class Visitor
{
    public string $page = '';
    public string $head = '';
    private string $address = '/';
    private DOMXPath $tree;
    private array $filled = [];
    private ?string $from = null;

    /*
     * $script says which header a page's script adds and where it finds the value. A visitor that
     * is spoiled sends wrong tokens: each long hexadecimal word that it read is reversed.
     */
    public function __construct(
        private readonly string $origin,
        private readonly string $jar,
        private readonly ?array $script = null,
        private readonly bool $spoiled = false,
    ) {
    }

    /* Somebody with the same cookies who sends wrong tokens. */
    public function spoiled_twin(): self
    {
        copy($this->jar, "$this->jar.twin");
        return new self($this->origin, "$this->jar.twin", $this->script, true);
    }

    public function visit(string $path, array $headers = []): void
    {
        $this->load($this->request($path, $headers));
        [$address, $head] = [$this->address, $this->head];
        foreach ($this->tree->query('//img[@src]') as $image) {
            $this->request($image->getAttribute('src'));
        }
        [$this->address, $this->head] = [$address, $head];
    }

    /* Loads a page in another tab, so many times; the page that is open stays. */
    public function open_elsewhere(string $path, int $times): void
    {
        [$address, $head] = [$this->address, $this->head];
        while ($times-- > 0) {
            $this->request($path);
        }
        [$this->address, $this->head] = [$address, $head];
    }

    /* From now on requests come from this address of the machine. */
    public function move_to(string $address): void
    {
        $this->from = $address;
    }

    public function fill(string $selector, string $text): void
    {
        $this->filled[$this->element($selector)->getAttribute('name')] = $text;
    }

    /* Presses a button or follows a link. */
    public function click(string $selector): void
    {
        $element = $this->element($selector);
        if ($element->nodeName === 'a') {
            $this->visit($element->getAttribute('href'));
            return;
        }
        while ($element && $element->nodeName !== 'form') {
            $element = $element->parentNode;
        }
        $this->submit($element ?? throw new RuntimeException("$selector stands in no form"));
    }

    public function shows(string $text): bool
    {
        return str_contains($this->tree->document->textContent, $text);
    }

    public function has(string $selector): bool
    {
        return $this->tree->query(self::path_of($selector))->length > 0;
    }

    public function status(): int
    {
        return preg_match_all('#^HTTP/\S+ (\d+)#m', $this->head, $found) ? (int) end($found[1]) : 0;
    }

    /* The value of a cookie, HttpOnly ones included. */
    public function cookie(string $name): string
    {
        foreach (is_file($this->jar) ? file($this->jar, FILE_IGNORE_NEW_LINES) : [] as $line) {
            $parts = explode("\t", $line);
            if (($parts[5] ?? '') === $name) {
                return rawurldecode($parts[6]);
            }
        }
        return '';
    }

    private function submit(DOMElement $form): void
    {
        $fields = [];
        foreach ($this->tree->query('.//input[@name]|.//textarea[@name]', $form) as $field) {
            $name = $field->getAttribute('name');
            $fields[$name] = $this->filled[$name] ?? $field->getAttribute('value');
        }
        $this->filled = [];
        $action = $form->getAttribute('action') ?: $this->address;
        if ($form->getAttribute('method') !== 'post') {
            $this->visit($action . '?' . http_build_query($fields));
        } elseif (!$form->hasAttribute('data-fetch')) {
            $this->load($this->request($action, [], http_build_query($fields)));
        } else {
            $this->submit_by_script($action, $fields);
        }
    }

    private function submit_by_script(string $action, array $fields): void
    {
        $headers = ['X-Requested-With' => 'XMLHttpRequest', $this->script['header'] => $this->script_token()];
        $text = $this->request($action, $headers, http_build_query($fields));
        $said = json_decode($text, true);
        if (isset($said['location'])) {
            $this->visit(strtok($said['location'], '#'));
        } else {
            $this->load(isset($said['problem']) ? '<p>' . htmlspecialchars($said['problem']) . '</p>' : $text);
        }
    }

    private function script_token(): string
    {
        $from = $this->script['from'];
        if (isset($from['cookie'])) {
            return $this->spoil($this->cookie($from['cookie']));
        }
        if (isset($from['json'])) {
            $text = $this->request($from['json'], ['X-Requested-With' => 'XMLHttpRequest']);
            return $this->spoil(json_decode($text, true)[$from['key']] ?? '');
        }
        return $this->element("meta[name={$from['meta']}]")->getAttribute('content');
    }

    /* Sends a request, follows redirects, keeps the heads, and returns the last body. */
    private function request(string $path, array $headers = [], ?string $form = null): string
    {
        $head = "$this->jar.head";
        $url = match (true) {
            str_starts_with($path, 'http') => $path,
            str_starts_with($path, '?') => $this->origin . strtok($this->address, '?') . $path,
            default => $this->origin . $path,
        };
        $command = ['curl', '-sS', '-L', '--max-time', '20', '--max-redirs', '5', '-b', $this->jar,
            '-c', $this->jar, '-D', $head, '-w', "\n%{url_effective}", '-A', 'Mozilla/5.0 (X11; Linux) Check/1.0'];
        foreach ($headers as $name => $value) {
            array_push($command, '-H', "$name: $value");
        }
        if ($this->from !== null) {
            array_push($command, '--interface', $this->from);
        }
        if ($form !== null) {
            array_push($command, '--data-raw', $form);
        }
        $process = proc_open([...$command, $url], [1 => ['pipe', 'w'], 2 => STDERR], $pipes);
        $output = stream_get_contents($pipes[1]);
        if (proc_close($process) !== 0) {
            throw new RuntimeException("no answer from $url");
        }
        $end = strrpos($output, "\n");
        $this->address = substr($output, $end + 1 + strlen($this->origin));
        $this->head = file_get_contents($head);
        return substr($output, 0, $end);
    }

    private function load(string $page): void
    {
        $this->page = $this->spoil($page);
        $document = new DOMDocument();
        libxml_use_internal_errors(true);
        $document->loadHTML('<?xml encoding="utf-8"?>' . ($this->page === '' ? '<p></p>' : $this->page));
        libxml_clear_errors();
        $this->tree = new DOMXPath($document);
    }

    private function spoil(string $text): string
    {
        return $this->spoiled
            ? preg_replace_callback('/\b[0-9a-f]{16,}\b/', fn ($found) => strrev($found[0]), $text)
            : $text;
    }

    private function element(string $selector): DOMElement
    {
        return $this->tree->query(self::path_of($selector))->item(0)
            ?? throw new RuntimeException("$selector is not on $this->address");
    }

    /* The XPath of a selector made of tags, #id, .class, [name=value] and spaces. */
    private static function path_of(string $selector): string
    {
        $path = '';
        foreach (explode(' ', $selector) as $part) {
            preg_match('/^[a-z0-9]*/', $part, $tag);
            $path .= '//' . ($tag[0] ?: '*');
            preg_match_all('/#([\w-]+)|\.([\w-]+)|\[([\w-]+)=([^]]*)\]/', $part, $found, PREG_SET_ORDER);
            foreach ($found as $test) {
                $path .= match ($test[0][0]) {
                    '#' => "[@id='$test[1]']",
                    '.' => "[contains(concat(' ', @class, ' '), ' $test[2] ')]",
                    '[' => "[@$test[3]='$test[4]']",
                };
            }
        }
        return $path;
    }
}
