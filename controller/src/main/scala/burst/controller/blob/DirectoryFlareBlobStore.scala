package burst.controller.blob

import burst.protocol.FlareId
import java.nio.file.{AccessDeniedException, Files, NoSuchFileException, Path}
import org.apache.pekko.util.ByteString

/** Blobs as files, in a directory per flare. A file appears under its name only when it is complete and on
  * disk.
  */
final class DirectoryFlareBlobStore private (directory: Path) extends FlareBlobStore:
  def put(id: FlareId, name: BlobName, file: Path): Unit =
    val target = path(id, name)
    if Files.exists(file) then
      Directories.attempt("storing a blob"):
        if !Files.exists(target.getParent) then
          Files.createDirectories(target.getParent)
          Directories.flush(directory)
        Directories.move(file, target)
    else if !Files.exists(target) then throw NoSuchFileException(file.toString)

  /** The directory may have been on a volume that has disappeared. */
  override def probe(): Unit =
    if !Files.isWritable(directory) then throw AccessDeniedException(directory.toString)

  def piece(id: FlareId, name: BlobName, from: Long, length: Int): ByteString =
    ByteString.fromArrayUnsafe(FileBytes.read(path(id, name), from, length))

  def load(id: FlareId, name: BlobName): ByteString =
    ByteString.fromArrayUnsafe(FileBytes.readAll(path(id, name)))

  def delete(id: FlareId, keep: Set[BlobName]): Unit =
    val own = directory.resolve(id.value)
    if Files.exists(own) then
      val (kept, going) = Directories.paths(own).partition: file =>
        keep.exists(_.text == file.getFileName.toString)
      going.foreach(Files.deleteIfExists(_))
      if kept.isEmpty then
        val _ = Files.deleteIfExists(own)

  def delete(id: FlareId, name: BlobName): Unit =
    val _ = Files.deleteIfExists(path(id, name))

  def flares(): Vector[FlareId] = Directories.names(directory).flatMap(FlareId.parse)

  /** Moves the files that earlier versions stored in `former` here, with the same names. */
  def takeOver(former: Path): Unit =
    if Files.exists(former) then
      for flare <- Directories.paths(former) if FlareId.parse(flare.getFileName.toString).isDefined do
        val own = Files.createDirectories(directory.resolve(flare.getFileName))
        for file <- Directories.paths(flare) do Directories.move(file, own.resolve(file.getFileName))
        Files.delete(flare)
      Directories.flush(directory)
      if Directories.names(former).isEmpty then Files.delete(former)

  private def path(id: FlareId, name: BlobName): Path = directory.resolve(id.value).resolve(name.text)

object DirectoryFlareBlobStore:
  def open(directory: Path): DirectoryFlareBlobStore =
    Files.createDirectories(directory)
    DirectoryFlareBlobStore(directory)
