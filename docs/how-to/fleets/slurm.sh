#!/bin/sh
# sbatch --array=1-4 slurm.sh; then: dyno merge part-* -o campaign
#SBATCH --job-name=dyno
#SBATCH --exclusive
#SBATCH --nodes=1
exec dyno run rwth --set scale=short --quiet --shard auto --out "part-$SLURM_ARRAY_TASK_ID"
