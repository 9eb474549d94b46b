package browser

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// leeway is how long the API server accepts a token after its end.
const leeway = time.Minute

// Ending returns a token with the end of its validity at another time, signed with the key of the
// API server. A token that the API server creates is valid for ten minutes at least.
func Ending(token string, at time.Time, keyFile string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", errors.New("this is not a JWT")
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", fmt.Errorf("decode a token: %w", err)
	}
	claims := map[string]any{}
	if err := json.Unmarshal(text, &claims); err != nil {
		return "", fmt.Errorf("decode a token: %w", err)
	}
	claims["exp"] = at.Add(-leeway).Unix()
	claims["nbf"] = at.Add(-time.Hour).Unix()
	claims["iat"] = claims["nbf"]
	if text, err = json.Marshal(claims); err != nil {
		return "", err
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(text)
	signature, err := sign(signed, keyFile)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), err
}

// sign returns a signature of the algorithm ES256.
func sign(text, keyFile string) ([]byte, error) {
	encoded, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(encoded)
	if block == nil {
		return nil, errors.New(keyFile + " has no key")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", keyFile, err)
	}
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return nil, err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signature, nil
}
