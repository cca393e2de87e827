"""The paper's figures, tables and claims: experiments, judgements and the report."""
