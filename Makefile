PYTHON ?= python3

.PHONY: env
env: ## make or renew the virtual environment .venv from requirements.lock
	@$(PYTHON) .ci/environment.py
