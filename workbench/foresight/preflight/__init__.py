"""Will topics be served after a restore, an upgrade, a migration or a move of disks?"""
