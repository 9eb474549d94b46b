package clientset

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"k8s.io/client-go/rest"
)

// windows returns what each new HTTP/2 connection allows the server to send of one response before
// it is read.
func windows(t *testing.T, listener net.Listener, config *tls.Config) <-chan uint32 {
	t.Helper()
	config = config.Clone()
	config.NextProtos = []string{http2.NextProtoTLS}
	all := make(chan uint32)
	go func() {
		defer close(all)
		for {
			plain, err := listener.Accept()
			if err != nil {
				return
			}
			conn := tls.Server(plain, config)
			preface := make([]byte, len(http2.ClientPreface))
			if _, err := io.ReadFull(conn, preface); err != nil {
				t.Error(err)
			}
			frame, err := http2.NewFramer(io.Discard, conn).ReadFrame()
			settings, ok := frame.(*http2.SettingsFrame)
			if !ok {
				t.Errorf("the first frame is a %T: %v", frame, err)
				return
			}
			window, _ := settings.Value(http2.SettingInitialWindowSize)
			_ = conn.Close()
			all <- window
		}
	}()
	return all
}

func TestAResponseThatIsNotReadIsBufferedOnlyInPart(t *testing.T) {
	certificates := httptest.NewTLSServer(nil)
	defer certificates.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	all := windows(t, listener, certificates.TLS)
	wrapped := 0
	config := &rest.Config{Host: "https://" + listener.Addr().String(), TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { wrapped++; return unnamed{next} })
	for range 2 { // the second client shares the transport
		client, err := NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan error, 1)
		go func() { sent <- client.Discovery().Get().AbsPath("/apis").MaxRetries(0).Do(t.Context()).Error() }()
		if window := <-all; window != receiveBuffer {
			t.Errorf("the API server may send %d bytes of a response before they are read, must be %d", window, receiveBuffer)
		}
		if <-sent == nil {
			t.Error("a connection that was closed is no error")
		}
	}
	if wrapped != 2 {
		t.Errorf("the wrapper of the configuration was used %d times, must be twice", wrapped)
	}
}

func TestTheTransportOfOtherProgramsIsNotChanged(t *testing.T) {
	if _, err := NewForConfig(&rest.Config{Host: "http://127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	if http.DefaultTransport.(*http.Transport).HTTP2 != nil {
		t.Error("the default transport of Go is changed")
	}
	for _, other := range []http.RoundTripper{nil, unnamed{}} {
		if got := boundBuffers(other); got != other {
			t.Errorf("%T became %T", other, got)
		}
	}
}

// unnamed hides which transport it wraps.
type unnamed struct{ http.RoundTripper }

// The race detector fails this test if two of them set the buffers.
func TestClientsOfOneConfigurationAreCreatedAtTheSameTime(t *testing.T) {
	t.Parallel()
	config := &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{Insecure: true, ServerName: t.Name()}}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := NewForConfig(config); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
