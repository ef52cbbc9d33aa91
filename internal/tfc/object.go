package tfc

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/postgres"
)

// objects are the addresses that hold a ticket in place of a token
// (docs/protocol.md, rule 23).
func objects() []route {
	return []route{
		{pattern: "PUT /api/v2/object/{id}/{ticket}", do: putObject, open: true},
		{pattern: "GET /api/v2/object/{id}/{ticket}/archive.tar.gz", do: getObject, open: true},
	}
}

// kindOfObject is the kind of deposit with an archive that an id is of.
func kindOfObject(id string) postgres.DepositKind {
	if strings.HasPrefix(id, string(postgres.PolicySetVersion)) {
		return postgres.PolicySetVersion
	}
	return postgres.ModuleVersion
}

func putObject(r *request) (answer, error) {
	id := r.PathValue("id")
	who, err := r.control.Redeem(r.Context(), control.ToUpload, id, r.PathValue("ticket"))
	if err != nil {
		return answer{}, err
	}
	_, err = r.control.Upload(r.Context(), who, kindOfObject(id), id, r.Body)
	return answer{status: http.StatusOK}, err
}

func getObject(r *request) (answer, error) {
	id := r.PathValue("id")
	who, err := r.control.Redeem(r.Context(), control.ToDownload, id, r.PathValue("ticket"))
	if err != nil {
		return answer{}, err
	}
	r.who = who
	return r.download(kindOfObject(id), id, "application/gzip")
}

// download streams what was uploaded for a deposit.
func (r *request) download(kind postgres.DepositKind, id, media string) (answer, error) {
	bytes, err := r.control.Download(r.Context(), r.who, kind, id)
	if err != nil {
		return answer{}, err
	}
	return answer{stream: func(w http.ResponseWriter) error {
		defer bytes.Close()
		w.Header().Set("Content-Type", media)
		w.Header().Set("Content-Length", strconv.FormatInt(bytes.Size(), 10))
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Method == http.MethodHead {
			return nil
		}
		_, err := io.Copy(w, bytes)
		return err
	}}, nil
}
