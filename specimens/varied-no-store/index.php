<?php
declare(strict_types=1);
/*
 * A site that says no-store where it means it: at the log-in, in the account and where the day's
 * lot is drawn. All other pages say nothing about caching, though each begins a session.
 */

require __DIR__ . '/../lib/site.php';

final class VariedNoStore extends Site
{
    protected const TITLE = 'The lamp lottery';
    private const PRIVATE_PATHS = ['/login', '/account', '/lot'];

    protected function routes(): array
    {
        return ['GET /lot' => 'lot'] + parent::routes();
    }

    protected function begin(): void
    {
        session_cache_limiter('');
        $this->start_session();
        if (in_array($this->path(), self::PRIVATE_PATHS, true)) {
            header('Cache-Control: no-store');
        } elseif ($this->member()) {
            header('Cache-Control: private');
        }
    }

    /* The same words for everybody, so that nothing but the header says it is private. */
    protected function lot(): void
    {
        $this->show('The day’s lot', "<h1>The day’s lot</h1>\n<p>Come back in the evening.</p>\n");
    }

    protected function header_links(): string
    {
        return "<a href=\"/lot\">The day’s lot</a>\n";
    }
}

(new VariedNoStore())->answer();
