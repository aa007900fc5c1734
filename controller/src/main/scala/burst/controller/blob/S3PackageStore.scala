package burst.controller.blob

import java.net.URI
import java.util.{Base64, HexFormat}
import scala.concurrent.duration.FiniteDuration
import scala.jdk.CollectionConverters.*
import scala.jdk.DurationConverters.*
import software.amazon.awssdk.auth.credentials.*
import software.amazon.awssdk.core.checksums.{RequestChecksumCalculation, ResponseChecksumValidation}
import software.amazon.awssdk.core.exception.SdkException
import software.amazon.awssdk.core.sync.RequestBody
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.s3.{S3Client, S3Configuration}
import software.amazon.awssdk.services.s3.model.S3Exception

/** Which bucket, and who we are there.
  *
  * @param prefix
  *   of all names, empty or ending in `/`
  * @param endpoint
  *   of a server that is not AWS's
  * @param credentials
  *   access key and secret key; AWS's own ways of finding them without
  * @param timeout
  *   of a call with all its tries
  */
final case class S3Settings(
    bucket: String,
    prefix: String,
    endpoint: Option[URI],
    region: String,
    credentials: Option[S3Credentials],
    timeout: FiniteDuration
):
  def address: String = s"s3://$bucket/$prefix${endpoint.fold("")(e => s" at $e")}"

final case class S3Credentials(accessKey: String, secretKey: String):
  override def toString: String = s"S3Credentials($accessKey, …)"

/** Packages as objects named by their hash and a tag. The server checks what it is sent against that hash,
  * and keeps an object whole or not at all; who fetches a package checks it again.
  */
final class S3PackageStore private (client: S3Client, settings: S3Settings) extends PackageStore:
  import S3PackageStore.*
  import settings.{bucket, prefix}

  def put(copy: PackageCopy, bytes: Array[Byte]): Unit =
    val checksum = Base64.getEncoder.encodeToString(HexFormat.of().parseHex(copy.id.value))
    val _ = attempt("storing a package"):
      client.putObject(
        request => request.bucket(bucket).key(key(copy)).checksumSHA256(checksum),
        RequestBody.fromBytes(bytes)
      )

  def size(copy: PackageCopy): Option[Long] =
    attempt("looking for a package"):
      present(client.headObject(_.bucket(bucket).key(key(copy))).contentLength)

  def read(copy: PackageCopy, offset: Long, length: Int): Option[Array[Byte]] =
    size(copy).flatMap: size =>
      val from = offset.max(0).min(size)
      val until = from + (size - from).min(length.max(0))
      if from == until then Some(Array.emptyByteArray)
      else
        attempt("reading a package"):
          val range = s"bytes=$from-${until - 1}"
          present(client.getObjectAsBytes(_.bucket(bucket).key(key(copy)).range(range)).asByteArray)

  def delete(copy: PackageCopy): Unit =
    val _ = attempt("deleting a package")(client.deleteObject(_.bucket(bucket).key(key(copy))))

  def copies(): Vector[PackageCopy] =
    attempt("listing packages"):
      val pages = client.listObjectsV2Paginator(_.bucket(bucket).prefix(prefix))
      pages.contents.asScala.flatMap(found => PackageCopy.parse(found.key.stripPrefix(prefix))).toVector

  override def close(): Unit = client.close()

  private def key(copy: PackageCopy): String = s"$prefix${copy.name}"

object S3PackageStore:
  /** Throws [[PackageStoreException]] when the bucket is not there or does not let us in. */
  def open(settings: S3Settings): S3PackageStore =
    val own = settings.credentials.fold[AwsCredentialsProvider](DefaultCredentialsProvider.builder().build()):
      pair => StaticCredentialsProvider.create(AwsBasicCredentials.create(pair.accessKey, pair.secretKey))
    val builder = S3Client
      .builder()
      .region(Region.of(settings.region))
      .credentialsProvider(own)
      .httpClientBuilder(UrlConnectionHttpClient.builder())
      .overrideConfiguration(_.apiCallTimeout(settings.timeout.toJava))
      // Servers other than AWS's know neither signed chunks nor trailing checksums everywhere.
      .serviceConfiguration(S3Configuration.builder().chunkedEncodingEnabled(false).build())
      .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
      .responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED)
    settings.endpoint.foreach(endpoint => builder.endpointOverride(endpoint).forcePathStyle(true))
    val client = builder.build()
    try attempt(s"opening ${settings.address}")(client.headBucket(_.bucket(settings.bucket)))
    catch
      case failure: PackageStoreException =>
        client.close()
        throw failure
    S3PackageStore(client, settings)

  private def attempt[A](operation: String)(work: => A): A =
    try work
    catch case cause: SdkException => throw PackageStoreException(operation, cause)

  private def present[A](work: => A): Option[A] =
    try Some(work)
    catch case absent: S3Exception if absent.statusCode == 404 => None
