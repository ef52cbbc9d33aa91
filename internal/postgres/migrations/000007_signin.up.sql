-- How people come in: who runs the server, whom an identity provider vouches for, and what a browser hands
-- to the command line (docs/server.md).

-- The user that the server made for whoever runs it. Names change, so this says which it is.
CREATE TABLE installation (
	one           boolean PRIMARY KEY DEFAULT true CHECK (one),
	administrator text NOT NULL REFERENCES users,
	created_at    timestamptz NOT NULL
);

-- A provider's name for somebody, which it never gives to anybody else.
CREATE TABLE sign_ins (
	issuer     text NOT NULL CHECK (issuer ~ '^https?://[^[:cntrl:][:space:]]+$' AND length(issuer) <= 1000),
	subject    text NOT NULL CHECK (subject ~ '^[^[:cntrl:]]{1,255}$'),
	user_id    text NOT NULL REFERENCES users ON DELETE CASCADE,
	created_at timestamptz NOT NULL,
	PRIMARY KEY (issuer, subject)
);
CREATE INDEX sign_ins_user ON sign_ins (user_id);

-- A code that a browser takes to the command line, which makes a token of it, once. The code itself is nowhere.
CREATE TABLE login_codes (
	digest     text PRIMARY KEY CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
	user_id    text NOT NULL REFERENCES users ON DELETE CASCADE,
	client     text NOT NULL CHECK (client <> ''),
	redirect   text NOT NULL CHECK (redirect ~ '^http://localhost:[0-9]{4,5}/login$'),
	challenge  text NOT NULL CHECK (challenge ~ '^[0-9A-Za-z_-]{43}$'),
	expires_at timestamptz NOT NULL
);
CREATE INDEX login_codes_user ON login_codes (user_id);
CREATE INDEX login_codes_expires ON login_codes (expires_at);
