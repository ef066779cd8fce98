<?php
declare(strict_types=1);
/*
 * Preferences by link: `?lang=de` is remembered in the session and redirected away, `?theme=dark`
 * is remembered and answered as it is. Every later page follows.
 */

require __DIR__ . '/../lib/site.php';

final class Preference extends Site
{
    protected const TITLE = 'As you like it';

    private const GERMAN = [
        '>About<' => '>Über uns<', '>Contact<' => '>Schreiben Sie uns<', '>Search<' => '>Suchen<',
        '>Log in<' => '>Anmelden<', '>Log out<' => '>Abmelden<', '>All notes<' => '>Alle Notizen<',
        '>Comments<' => '>Kommentare<', '>Send<' => '>Absenden<', '>Your name ' => '>Ihr Name ',
        '>Your comment ' => '>Ihr Kommentar ', '>Keep the wick trimmed.<' => '>Kürzen Sie den Docht.<',
    ];

    protected function begin(): void
    {
        $this->start_session();
    }

    public function answer(): void
    {
        $this->begin();
        if (in_array(asked('theme'), ['dark', 'light'], true)) {
            $_SESSION['theme'] = asked('theme');
        }
        if (in_array(asked('lang'), ['de', 'en'], true)) {
            $_SESSION['language'] = asked('lang');
            $this->redirect($this->path());
            return;
        }
        ob_start();
        parent::answer();
        $page = ob_get_clean();
        echo $this->is_german() ? strtr($page, self::GERMAN) : $page;
    }

    protected function head(): string
    {
        return ($_SESSION['theme'] ?? 'light') === 'dark'
            ? "<style>body { background: #221c16; color: #f3ead9 } a { color: #e0a860 }</style>\n"
            : "<style>body { background: #fbf7ef; color: #2b2622 } a { color: #8a5a2b }</style>\n";
    }

    protected function header_links(): string
    {
        $is_dark = ($_SESSION['theme'] ?? 'light') === 'dark';
        $language = $this->is_german() ? '<a id="lang-en" href="?lang=en">English</a>' : '<a id="lang-de" href="?lang=de">Deutsch</a>';
        $theme = $is_dark ? '<a id="theme-light" href="?theme=light">By day</a>' : '<a id="theme-dark" href="?theme=dark">By night</a>';
        return "$language\n$theme\n";
    }

    private function is_german(): bool
    {
        return ($_SESSION['language'] ?? 'en') === 'de';
    }
}

(new Preference())->answer();
