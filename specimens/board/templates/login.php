<?php if (!defined('BOARD')) exit; ?>
<h1>Log in</h1>
<?php if ($problem): ?>
<p class="problem" role="alert"><?= escape($problem) ?></p>
<?php endif ?>
<form class="write" action="/login" method="post">
    <label>Name <input name="name" maxlength="24" autocomplete="username" required></label>
    <label>Password <input type="password" name="password" minlength="1" autocomplete="current-password" required></label>
    <button>Log in</button>
</form>
