"""Create or update an account with its Kubernetes identity, and issue a REST token."""

import json
import sys
from argparse import ArgumentParser, BooleanOptionalAction
from datetime import timedelta
from pathlib import Path

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from dra_console.access import tokens
from dra_console.access.models import Profile, Scope

UNNAMED = "command line"


class Command(BaseCommand):
    """Prints one JSON object: username, kubernetes_username, kubernetes_groups, token.

    Running it again changes what is given and keeps the rest; a new token ends the older
    ones of the same name. `token` is null unless one was asked for.
    """

    help = (
        "Create or update an account with its Kubernetes identity; with --token also issue a REST "
        "token, which is printed this once. Prints JSON."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="log-in name")
        parser.add_argument(
            "--kubernetes-username", help="name to impersonate (at creation: the log-in name)"
        )
        parser.add_argument(
            "--group",
            action="append",
            dest="groups",
            metavar="GROUP",
            help="Kubernetes group to impersonate; repeat for several; replaces earlier ones",
        )
        parser.add_argument(
            "--operator",
            action=BooleanOptionalAction,
            help="runs this console: sees in full what keeps clusters from being followed",
        )
        parser.add_argument(
            "--password-file", help="file whose first line is the new password; - reads stdin"
        )
        parser.add_argument(
            "--token",
            nargs="?",
            const=UNNAMED,
            metavar="NAME",
            help=f"issue a REST token of this name ({UNNAMED})",
        )
        parser.add_argument(
            "--scope",
            choices=Scope.values,
            default=Scope.CLAIMS_WRITE,
            help="scope of that token (%(default)s)",
        )
        parser.add_argument(
            "--days", type=int, default=90, help="days until it expires (%(default)s)"
        )

    def handle(self, *_args: object, **options: object) -> None:
        name = str(options["name"])
        groups = options["groups"]
        with transaction.atomic():
            user, created = User.objects.get_or_create(username=name)
            if created:
                user.set_unusable_password()
                user.save()
            if options["operator"] is not None:
                user.is_staff = bool(options["operator"])
                user.save()
            profile, _ = Profile.objects.get_or_create(
                user=user, defaults={"kubernetes_username": name}
            )
            if options["kubernetes_username"] is not None:
                profile.kubernetes_username = str(options["kubernetes_username"])
            if isinstance(groups, list):
                profile.kubernetes_groups = groups
            try:
                profile.full_clean()
            except ValidationError as error:
                raise CommandError("; ".join(error.messages)) from error
            profile.save()
            if options["password_file"] is not None:
                _set_password(user, password=_read_password(str(options["password_file"])))
            token = (
                _issue(
                    user, name=str(options["token"]), scope=options["scope"], days=options["days"]
                )
                if options["token"]
                else None
            )
        account = {
            "username": user.username,
            "kubernetes_username": profile.kubernetes_username,
            "kubernetes_groups": profile.kubernetes_groups,
            "token": token,
        }
        self.stdout.write(json.dumps(account))


def _read_password(path: str) -> str:
    if path == "-":
        return sys.stdin.readline().rstrip("\r\n")
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise CommandError(f"--password-file: {error}") from error
    return lines[0] if lines else ""


def _set_password(user: User, *, password: str) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise CommandError(f"--password-file: {' '.join(error.messages)}") from error
    user.set_password(password)
    user.save()


def _issue(user: User, *, name: str, scope: object, days: object) -> str:
    if not isinstance(days, int) or days < 1:
        raise CommandError(f"--days: expected at least 1, got {days}")
    now = timezone.now()
    tokens.revoke(user, name=name, now=now)
    _, text = tokens.issue(
        user, name=name, scope=Scope(str(scope)), expires_at=now + timedelta(days=days)
    )
    return text
