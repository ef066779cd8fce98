<?php
declare(strict_types=1);
/*
 * Small pieces of HTML and of the request.
 */

function escape(string|int $text): string
{
    return htmlspecialchars((string) $text, ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
}

function hidden_field(string $name, string $value): string
{
    return '<input type="hidden" name="' . escape($name) . '" value="' . escape($value) . '">' . "\n";
}

/* Text with blank lines as paragraphs. */
function paragraphs(string $text): string
{
    return '<p>' . implode("</p>\n<p>", array_map(escape(...), preg_split('/\R{2,}/', trim($text)))) . "</p>\n";
}

/* The first characters of a text, never half of one. */
function first_characters(string $text, int $count): string
{
    return preg_match("/^.{0,$count}/us", $text, $found) === 1 ? $found[0] : '';
}

function random_token(): string
{
    return bin2hex(random_bytes(16));
}

function is_post(): bool
{
    return $_SERVER['REQUEST_METHOD'] === 'POST';
}

/* A parameter of the query as text; anything else counts as empty. */
function asked(string $name): string
{
    return is_string($_GET[$name] ?? null) ? trim($_GET[$name]) : '';
}

/* Whether a script of the page asks, not the browser for a new page. */
function is_background(): bool
{
    return isset($_SERVER['HTTP_X_REQUESTED_WITH']);
}

/*
 * A script that sends every form marked data-fetch in the background, with one more header
 * whose value the given JavaScript expression finds, and then goes where the answer says or shows it.
 */
function fetch_script(string $header, string $expression): string
{
    return <<<HTML
    <script>
    for (const form of document.querySelectorAll('form[data-fetch]')) {
        form.addEventListener('submit', async (event) => {
            event.preventDefault();
            const answer = await fetch(form.action, {
                method: 'POST',
                body: new URLSearchParams(new FormData(form)),
                headers: {'X-Requested-With': 'XMLHttpRequest', '$header': $expression},
            });
            if (answer.headers.get('Content-Type').startsWith('text/html')) {
                document.querySelector('main').innerHTML = await answer.text();
                return;
            }
            const said = await answer.json();
            if (said.location) {
                location.assign(said.location.split('#')[0]);
            } else {
                document.querySelector('main').prepend(said.problem);
            }
        });
    }
    </script>

    HTML;
}
