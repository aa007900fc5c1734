package burst.controller.blob

import burst.protocol.FlareId
import java.nio.file.{Files, NoSuchFileException, Path}
import org.apache.pekko.util.ByteString
import scala.jdk.CollectionConverters.*
import software.amazon.awssdk.core.ResponseBytes
import software.amazon.awssdk.core.sync.RequestBody
import software.amazon.awssdk.services.s3.model.{GetObjectResponse, S3Exception}

/** Blobs as objects below `flares/`, in a folder of their flare. They are read in ranges, so that a slow
  * reader keeps no connection to the bucket.
  */
final class S3FlareBlobStore private (store: S3Bucket) extends FlareBlobStore:
  import store.settings.bucket
  import store.{attempt, client, present}

  private val prefix = s"${store.settings.prefix}flares/"

  def put(id: FlareId, name: BlobName, file: Path): Unit =
    if Files.exists(file) then
      attempt("storing a blob"):
        client.putObject(request => request.bucket(bucket).key(key(id, name)), RequestBody.fromFile(file))
      Files.delete(file)
    else if size(id, name).isEmpty then throw NoSuchFileException(file.toString)

  def piece(id: FlareId, name: BlobName, from: Long, length: Int): ByteString =
    val range = s"bytes=$from-${from + length - 1}"
    attempt("reading a blob"):
      try present(client.getObjectAsBytes(_.bucket(bucket).key(key(id, name)).range(range)))
      catch case beyond: S3Exception if beyond.statusCode == 416 => Some(S3FlareBlobStore.Nothing)
    .fold(throw NoSuchFileException(key(id, name)))(bytes =>
      ByteString.fromArrayUnsafe(bytes.asByteArrayUnsafe)
    )

  def load(id: FlareId, name: BlobName): ByteString =
    attempt("reading a blob"):
      present(client.getObjectAsBytes(_.bucket(bucket).key(key(id, name))))
    .fold(throw NoSuchFileException(key(id, name)))(bytes =>
      ByteString.fromArrayUnsafe(bytes.asByteArrayUnsafe)
    )

  def delete(id: FlareId, keep: Set[BlobName]): Unit =
    val kept = keep.map(key(id, _))
    attempt("deleting blobs"):
      client
        .listObjectsV2Paginator(_.bucket(bucket).prefix(s"$prefix${id.value}/"))
        .contents
        .asScala
        .map(_.key)
        .filterNot(kept)
        .foreach(going => client.deleteObject(_.bucket(bucket).key(going)))

  def delete(id: FlareId, name: BlobName): Unit =
    attempt("deleting a blob"):
      val _ = client.deleteObject(_.bucket(bucket).key(key(id, name)))

  def flares(): Vector[FlareId] =
    attempt("listing blobs"):
      client
        .listObjectsV2Paginator(_.bucket(bucket).prefix(prefix).delimiter("/"))
        .commonPrefixes
        .asScala
        .flatMap(folder => FlareId.parse(folder.prefix.stripPrefix(prefix).stripSuffix("/")))
        .toVector

  private def size(id: FlareId, name: BlobName): Option[Long] =
    attempt("looking for a blob"):
      present(client.headObject(_.bucket(bucket).key(key(id, name))).contentLength)

  private def key(id: FlareId, name: BlobName): String = s"$prefix${id.value}/${name.text}"

object S3FlareBlobStore:
  private val Nothing =
    ResponseBytes.fromByteArrayUnsafe(GetObjectResponse.builder().build(), Array.emptyByteArray)

  /** Takes over what earlier versions had below `outputs/`, by the same names. */
  def open(store: S3Bucket): S3FlareBlobStore =
    import store.client
    import store.settings.{bucket, prefix}
    val former = s"${prefix}outputs/"
    store.attempt("taking over outputs of an earlier version"):
      client
        .listObjectsV2Paginator(_.bucket(bucket).prefix(former))
        .contents
        .asScala
        .map(_.key)
        .foreach: from =>
          val to = s"${prefix}flares/${from.stripPrefix(former)}"
          // Another controller that starts now may have moved it.
          val copied = store.present:
            client.copyObject(
              _.sourceBucket(bucket).sourceKey(from).destinationBucket(bucket).destinationKey(to)
            )
          copied.foreach(_ => client.deleteObject(_.bucket(bucket).key(from)))
    S3FlareBlobStore(store)
