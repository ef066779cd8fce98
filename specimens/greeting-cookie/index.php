<?php
declare(strict_types=1);
/*
 * A greeting by cookies that are no session: `name` is set by PHP when a form asks, `nick` only by
 * a script of the page. Every page greets by both.
 */

require __DIR__ . '/../lib/site.php';

final class GreetingCookie extends Site
{
    protected const TITLE = 'Good evening';

    protected function routes(): array
    {
        return ['POST /name' => 'keep_name'] + parent::routes();
    }

    protected function keep_name(): void
    {
        $name = first_characters($this->posted('name'), 40);
        setcookie('name', $name, ['path' => '/', 'expires' => time() + 86400]);
        $this->redirect('/');
    }

    protected function header_links(): string
    {
        $name = $this->cookie('name');
        $nick = $this->cookie('nick');
        return ($name === '' ? '' : '<b id="greeting">Good evening, ' . escape($name) . "</b>\n")
            . ($nick === '' ? '' : '<i id="known-as">known as ' . escape($nick) . "</i>\n");
    }

    protected function foot(): string
    {
        return $this->form('greet', '/name', $this->text_field('name', 'Your name'), 'Greet me')
            . <<<'HTML'
            <form id="nick-form"><label>Nickname <input id="nick"></label><button>Call me so</button></form>
            <script>
            document.getElementById('nick-form').addEventListener('submit', (event) => {
                event.preventDefault();
                document.cookie = 'nick=' + encodeURIComponent(document.getElementById('nick').value) + '; path=/';
                location.reload();
            });
            </script>

            HTML;
    }

    private function cookie(string $name): string
    {
        $value = $_COOKIE[$name] ?? '';
        return is_string($value) ? first_characters($value, 40) : '';
    }
}

(new GreetingCookie())->answer();
