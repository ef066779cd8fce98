<?php if (!defined('BOARD')) exit; ?>
<h1>Register</h1>
<?php if ($problem): ?>
<p class="problem" role="alert"><?= escape($problem) ?></p>
<?php endif ?>
<form class="write" action="/register" method="post">
    <label>Name <input name="name" maxlength="24" autocomplete="username" required></label>
    <label>Password <input type="password" name="password" minlength="8" autocomplete="new-password" required></label>
    <button>Register</button>
</form>
