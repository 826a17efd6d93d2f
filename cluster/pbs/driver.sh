#!/bin/bash
# The audit itself as a job, for sites that stop long processes on login nodes:  qsub cluster/pbs/driver.sh
#PBS -N wmbxl-audit
#PBS -l select=1:ncpus=2:mem=8gb
#PBS -l walltime=24:00:00
#PBS -j oe
#PBS -r y
set -euo pipefail
cd "$PBS_O_WORKDIR"
# module load python/3.12
# . /shared/env/bin/activate
# exec: so that the SIGTERM of PBS reaches the audit, which then ends the workers' jobs
exec wmbxl audit "${AUDIT:-audit.yaml}" --cluster "${RECIPE:-cluster/pbs/recipe.yaml}"
