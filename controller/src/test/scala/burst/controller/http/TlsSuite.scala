package burst.controller.http

import burst.node.SetupException
import com.typesafe.config.ConfigFactory
import java.io.FileInputStream
import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.file.{Files, Path}
import java.security.KeyStore
import java.util.Base64
import java.util.concurrent.TimeUnit
import javax.net.ssl.{SSLContext, TrustManagerFactory}
import scala.util.Using

/** A self-signed certificate for this machine, as PKCS #12 and as PEM. */
object TlsFiles:
  val Password = "test-password"
  private lazy val directory = Files.createTempDirectory("burst-tls")

  lazy val keystore: Path =
    val file = directory.resolve("api.p12")
    val keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString
    val command = Seq(keytool, "-genkeypair", "-keystore", s"$file", "-storetype", "PKCS12", "-storepass") ++
      Seq(Password, "-alias", "api", "-dname", "CN=test", "-ext", "SAN=IP:127.0.0.1", "-keyalg", "EC")
    val process = ProcessBuilder(command*).inheritIO().start()
    assert(process.waitFor(60, TimeUnit.SECONDS) && process.exitValue == 0, "keytool failed")
    file

  private lazy val read: KeyStore =
    val store = KeyStore.getInstance("PKCS12")
    Using.resource(FileInputStream(keystore.toFile))(store.load(_, Password.toCharArray))
    store

  lazy val certificate: Path = pem("CERTIFICATE", read.getCertificate("api").getEncoded)
  lazy val key: Path = pem("PRIVATE KEY", read.getKey("api", Password.toCharArray).getEncoded)

  /** A context that trusts this certificate alone. */
  lazy val trusting: SSLContext =
    val trusted = KeyStore.getInstance("PKCS12")
    trusted.load(null, null)
    trusted.setCertificateEntry("api", read.getCertificate("api"))
    val managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    managers.init(trusted)
    val context = SSLContext.getInstance("TLS")
    context.init(null, managers.getTrustManagers, null)
    context

  private def pem(kind: String, bytes: Array[Byte]): Path =
    val text = Base64.getMimeEncoder(64, "\n".getBytes).encodeToString(bytes)
    Files.writeString(
      directory.resolve(kind.replace(' ', '-')),
      s"-----BEGIN $kind-----\n$text\n-----END $kind-----\n"
    )

abstract class TlsContract extends HttpSuite:
  private def get(scheme: String): HttpResponse[String] =
    val client = HttpClient.newBuilder().sslContext(TlsFiles.trusting).build()
    val request = HttpRequest.newBuilder(URI(s"$scheme://127.0.0.1:$port/ping")).build()
    client.send(request, HttpResponse.BodyHandlers.ofString())

  test("the API answers over TLS with the configured certificate, and not without TLS"):
    val reply = get("https")
    assertEquals(reply.statusCode -> reply.body, 200 -> "pong")
    assert(reply.sslSession.get.getProtocol.startsWith("TLSv1."), reply.sslSession.get.getProtocol)
    intercept[java.io.IOException](get("http"))

class PemTlsSuite extends TlsContract:
  override def settings =
    s"""burst.http.tls { certificate = "${TlsFiles.certificate}", key = "${TlsFiles.key}" }"""

class KeystoreTlsSuite extends TlsContract:
  override def settings =
    s"""burst.http.tls { keystore = "${TlsFiles.keystore}", keystore-password = "${TlsFiles.Password}" }"""

class TlsSettingsSuite extends munit.FunSuite:
  private def context(settings: String): Option[SSLContext] =
    Tls.from(
      ConfigFactory.parseString(settings).withFallback(ConfigFactory.load().getConfig("burst.http.tls"))
    )

  test("without files there is no TLS"):
    assertEquals(context(""), None)

  test("files that do not fit together are reported by their setting, without any secret"):
    val (certificate, key, keystore) = (TlsFiles.certificate, TlsFiles.key, TlsFiles.keystore)
    Seq(
      s"certificate = \"$certificate\"" -> "burst.http.tls",
      s"key = \"$key\"" -> "burst.http.tls",
      s"certificate = \"$certificate\", key = \"$key\", keystore = \"$keystore\"" -> "burst.http.tls",
      s"certificate = \"$certificate\", key = \"$certificate\"" -> "burst.http.tls.key",
      s"certificate = \"$key\", key = \"$key\"" -> "burst.http.tls.certificate",
      s"certificate = \"$certificate\", key = \"/nowhere\"" -> "/nowhere",
      s"keystore = \"$keystore\", keystore-password = wrong-password" -> "burst.http.tls.keystore"
    ).foreach: (settings, told) =>
      val failure = intercept[SetupException](context(settings))
      assert(failure.getMessage.contains(told), failure.getMessage)
      assert(!failure.getMessage.contains("wrong-password"), failure.getMessage)
