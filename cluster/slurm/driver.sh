#!/bin/bash
# The audit itself as a job, for sites that stop long processes on login nodes:  sbatch cluster/slurm/driver.sh
#SBATCH --job-name=wmbxl-audit
#SBATCH --cpus-per-task=2
#SBATCH --mem=8G
#SBATCH --time=24:00:00
#SBATCH --output=wmbxl-audit-%j.log
#SBATCH --open-mode=append
#SBATCH --requeue
set -euo pipefail
# module load python/3.12
# . /shared/env/bin/activate
# exec: so that Slurm's SIGTERM reaches the audit, which then ends the workers' jobs
exec wmbxl audit "${AUDIT:-audit.yaml}" --cluster "${RECIPE:-cluster/slurm/recipe.yaml}"
