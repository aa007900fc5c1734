package burst.controller.blob

import burst.protocol.FlareId
import java.nio.file.{Files, NoSuchFileException, Path}
import org.apache.pekko.util.ByteString
import scala.jdk.CollectionConverters.*
import software.amazon.awssdk.core.ResponseBytes
import software.amazon.awssdk.core.sync.RequestBody
import software.amazon.awssdk.services.s3.model.{GetObjectResponse, S3Exception}

/** Blobs as objects below `flares/`, in a folder per flare. They are read in ranges, so that a slow reader
  * does not occupy a connection to the bucket.
  */
final class S3FlareBlobStore(store: S3Bucket) extends FlareBlobStore:
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

  def flares(): Vector[FlareId] = flaresBelow(prefix)

  /** Moves the objects that earlier versions stored below `outputs/` here, with the same names. Without a
    * prefix of our own, others may have objects there, too: only workers' numbers in folders of flares are
    * ours.
    */
  def takeOverOutputs(): Unit =
    val former = s"${store.settings.prefix}outputs/"
    for id <- flaresBelow(former) do
      val folder = s"$former${id.value}/"
      attempt("taking over outputs of an earlier version"):
        client
          .listObjectsV2Paginator(_.bucket(bucket).prefix(folder))
          .contents
          .asScala
          .map(_.key)
          .filter(_.stripPrefix(folder).matches("\\d+"))
          .foreach(from => move(from, s"$prefix${id.value}/${from.stripPrefix(folder)}"))

  private def move(from: String, to: String): Unit =
    // Another controller that is starting may have moved it.
    val copied = present:
      client.copyObject(
        _.sourceBucket(bucket).sourceKey(from).destinationBucket(bucket).destinationKey(to)
      )
    copied.foreach(_ => client.deleteObject(_.bucket(bucket).key(from)))

  private def flaresBelow(folder: String): Vector[FlareId] =
    attempt("listing blobs"):
      client
        .listObjectsV2Paginator(_.bucket(bucket).prefix(folder).delimiter("/"))
        .commonPrefixes
        .asScala
        .flatMap(own => FlareId.parse(own.prefix.stripPrefix(folder).stripSuffix("/")))
        .toVector

  private def size(id: FlareId, name: BlobName): Option[Long] =
    attempt("looking for a blob"):
      present(client.headObject(_.bucket(bucket).key(key(id, name))).contentLength)

  private def key(id: FlareId, name: BlobName): String = s"$prefix${id.value}/${name.text}"

object S3FlareBlobStore:
  private val Nothing =
    ResponseBytes.fromByteArrayUnsafe(GetObjectResponse.builder().build(), Array.emptyByteArray)
