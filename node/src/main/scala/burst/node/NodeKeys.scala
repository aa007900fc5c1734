package burst.node

import com.typesafe.config.Config
import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.{Files, Path}
import java.security.cert.{CertificateFactory, X509Certificate}
import java.security.interfaces.{RSAPrivateKey, RSAPublicKey}
import org.apache.pekko.pki.pem.{DERPrivateKeyLoader, PEMDecoder}
import scala.util.control.NonFatal

/** A node's private key, its certificate, and that of the authority that signs all nodes' certificates. */
final case class NodeKeys(key: Path, certificate: Path, authority: Path) extends NodeProof:
  def hint: String = s"has this node got files of the same authority (${NodeKeys.Section})"

  private[node] def prepare(makes: Boolean): Unit = ()

  private[node] def transport: Map[String, Any] =
    val artery = "pekko.remote.artery"
    Map(
      s"$artery.transport" -> "tls-tcp",
      s"$artery.ssl.ssl-engine-provider" ->
        "org.apache.pekko.remote.artery.tcp.ssl.RotatingKeysSSLEngineProvider",
      s"$artery.ssl.rotating-keys-engine.enabled-algorithms" -> java.util.List.of(ClusterKeyEngine.Cipher),
      s"$artery.ssl.rotating-keys-engine.key-file" -> key.toString,
      s"$artery.ssl.rotating-keys-engine.cert-file" -> certificate.toString,
      s"$artery.ssl.rotating-keys-engine.ca-cert-file" -> authority.toString
    )

object NodeKeys:
  private val Section = "burst.cluster.tls"

  /** `burst.cluster.tls`; none if no key in it is set. The files are read when the node first connects to
    * another one, and repeatedly from then on: mistakes present from the start are reported here. Throws
    * `SetupException`.
    */
  def from(config: Config): Option[NodeKeys] =
    val names = Vector("key", "certificate", "authority")
    val files = names.map(config.getString)
    if files.forall(_.isEmpty) then None
    else
      names.zip(files).foreach: (name, file) =>
        if file.isEmpty then
          throw SetupException(
            s"$Section.$name is missing: TLS between nodes needs key, certificate and authority."
          )
      val Vector(key, certificate, authority) = files.map(Path.of(_).toAbsolutePath): @unchecked
      val modulus = read("key", key, "an RSA key in PEM"): bytes =>
        DERPrivateKeyLoader.load(PEMDecoder.decode(String(bytes, US_ASCII))) match
          case key: RSAPrivateKey => key.getModulus
      val certified = read("certificate", certificate, "a certificate in PEM")(x509)
      certified.getPublicKey match
        case public: RSAPublicKey if public.getModulus == modulus => ()
        case _ => throw SetupException(s"$Section.key: $key is not the key of the certificate $certificate.")
      val issuer = read("authority", authority, "a certificate in PEM")(x509)
      try certified.verify(issuer.getPublicKey)
      catch
        case NonFatal(_) =>
          throw SetupException(s"$Section.authority: $authority has not signed the certificate $certificate.")
      Some(NodeKeys(key, certificate, authority))

  private def x509(bytes: Array[Byte]): X509Certificate =
    CertificateFactory.getInstance("X.509").generateCertificate(ByteArrayInputStream(bytes)) match
      case certificate: X509Certificate => certificate

  /** An error names the file and its setting, but never shows its content. */
  private def read[A](name: String, file: Path, what: String)(use: Array[Byte] => A): A =
    val bytes =
      try Files.readAllBytes(file)
      catch case NonFatal(_) => throw SetupException(s"$Section.$name: $file cannot be read.")
    try use(bytes)
    catch case NonFatal(_) => throw SetupException(s"$Section.$name: $file is not $what.")
