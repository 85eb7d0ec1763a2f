"""Language-neutral descriptions of formats, for this package (as `converter.schemas`) and for anybody else."""
