package burst.controller.blob

import java.net.URI
import scala.concurrent.duration.FiniteDuration
import scala.jdk.DurationConverters.*
import software.amazon.awssdk.auth.credentials.*
import software.amazon.awssdk.core.checksums.{RequestChecksumCalculation, ResponseChecksumValidation}
import software.amazon.awssdk.core.exception.SdkException
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.s3.{S3Client, S3Configuration}
import software.amazon.awssdk.services.s3.model.S3Exception

/** The address of a bucket, and the credentials for it.
  *
  * @param prefix
  *   the prefix of all names, empty or ending in `/`
  * @param endpoint
  *   the address of a server that is not AWS's
  * @param credentials
  *   access key and secret key; without them, AWS's own ways of finding some
  * @param timeout
  *   the timeout of a call with all its retries
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

/** A bucket that exists and accepts our credentials. */
final class S3Bucket private (val client: S3Client, val settings: S3Settings) extends AutoCloseable:
  val name: String = settings.bucket

  /** Performs a call; a failure becomes a [[BlobStoreException]]. */
  def attempt[A](operation: String)(work: => A): A = S3Bucket.attempt(operation)(work)

  /** Returns the result of work, or none if the object does not exist. */
  def present[A](work: => A): Option[A] =
    try Some(work)
    catch case absent: S3Exception if absent.statusCode == 404 => None

  override def close(): Unit = client.close()

object S3Bucket:
  /** Opens a bucket. Throws [[BlobStoreException]] if it does not exist or refuses access. */
  def open(settings: S3Settings): S3Bucket =
    val own = settings.credentials.fold[AwsCredentialsProvider](DefaultCredentialsProvider.builder().build()):
      pair => StaticCredentialsProvider.create(AwsBasicCredentials.create(pair.accessKey, pair.secretKey))
    val builder = S3Client
      .builder()
      .region(Region.of(settings.region))
      .credentialsProvider(own)
      .httpClientBuilder(UrlConnectionHttpClient.builder())
      .overrideConfiguration(_.apiCallTimeout(settings.timeout.toJava))
      // Not all servers other than AWS's support signed chunks and trailing checksums.
      .serviceConfiguration(S3Configuration.builder().chunkedEncodingEnabled(false).build())
      .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
      .responseChecksumValidation(ResponseChecksumValidation.WHEN_REQUIRED)
    settings.endpoint.foreach(endpoint => builder.endpointOverride(endpoint).forcePathStyle(true))
    val client = builder.build()
    try attempt(s"opening ${settings.address}")(client.headBucket(_.bucket(settings.bucket)))
    catch
      case failure: BlobStoreException =>
        client.close()
        throw failure
    S3Bucket(client, settings)

  private def attempt[A](operation: String)(work: => A): A =
    try work
    catch case cause: SdkException => throw BlobStoreException(operation, cause)
