<?php if (!defined('BOARD')) exit; ?>
<h1>New thread</h1>
<form class="write" action="/" method="post">
    <input type="hidden" name="token" value="<?= escape(form_token()) ?>">
    <label>Subject <input name="subject" maxlength="120" required></label>
    <label>First post <textarea name="body" rows="12" maxlength="20000" required></textarea></label>
    <button>Start the thread</button>
</form>
