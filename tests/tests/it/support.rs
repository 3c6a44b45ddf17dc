//! Running the command, and making its inputs.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use engine::document::{Document, OpenOptions};
use image::RgbImage;

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub(crate) fn sample_pdf() -> PathBuf {
    root().join("assets/samples/gravity-sample.pdf")
}

/// A folder for one test's files, and the command run in it.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    program: PathBuf,
    /// Whether the command gives up the rights of root.
    drops_rights: bool,
}

/// The user and the group that own nothing.
#[cfg(unix)]
const NOBODY: u32 = 65_534;

/// How a run ended.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The faults that were named.
    pub(crate) fn faults(&self) -> Vec<&str> {
        self.err.lines().filter_map(|line| line.strip_prefix("gravityocr: ")).collect()
    }
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_tests"));
        Self { folder: tempfile::tempdir().unwrap(), program, drops_rights: false }
    }

    /// Where the command is run by somebody whom the permissions of files stop. They do not stop root, who becomes
    /// nobody for it.
    #[cfg(unix)]
    pub(crate) fn with_permissions() -> Self {
        use std::os::unix::fs::PermissionsExt;
        let mut sandbox = Self::new();
        let probe = sandbox.write("probe", "");
        fs::set_permissions(&probe, fs::Permissions::from_mode(0o000)).unwrap();
        sandbox.drops_rights = fs::read(&probe).is_ok();
        fs::remove_file(probe).unwrap();
        if sandbox.drops_rights {
            // Nobody may not be allowed to enter the folder of the build.
            let program = sandbox.path(".program");
            fs::copy(&sandbox.program, &program).unwrap();
            sandbox.program = program;
            fs::set_permissions(sandbox.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        }
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names in a folder of the sandbox, in order.
    pub(crate) fn listing(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The command with nothing of the user's own around it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        #[cfg(unix)]
        if self.drops_rights {
            use std::os::unix::process::CommandExt;
            command.uid(NOBODY).gid(NOBODY);
        }
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        for name in
            ["NO_COLOR", "HF_HOME", "HF_HUB_CACHE", "XDG_DATA_HOME", "XDG_CACHE_HOME", "DISPLAY", "WAYLAND_DISPLAY"]
        {
            command.env_remove(name);
        }
        command.env("HOME", self.folder.path());
        command
    }

    pub(crate) fn run(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ran {
        Ran::of(self.command().args(args).output().unwrap())
    }

    /// `recognize` with words split at blanks.
    pub(crate) fn recognize(&self, line: &str) -> Ran {
        self.run(["recognize"].into_iter().chain(line.split(' ')))
    }
}

/// A picture of the sample's first lines of running text, as a PNG.
pub(crate) fn few_lines() -> &'static [u8] {
    static PNG: OnceLock<Vec<u8>> = OnceLock::new();
    PNG.get_or_init(|| {
        let mut document = Document::open(&sample_pdf(), &OpenOptions::default()).unwrap();
        let page = document.render(0, 200.0).unwrap().pixels;
        let lines = image::imageops::crop_imm(&page, 140, 310, 690, 130).to_image();
        png(&lines)
    })
}

pub(crate) fn png(picture: &RgbImage) -> Vec<u8> {
    encoded(picture, image::ImageFormat::Png)
}

pub(crate) fn encoded(picture: &RgbImage, format: image::ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// A picture that no format compresses well, so that half of its file is half of its pixels.
pub(crate) fn noise() -> RgbImage {
    let mut state = 1_u32;
    RgbImage::from_fn(200, 100, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let grey = (state >> 24) as u8;
        image::Rgb([grey, grey, grey])
    })
}

/// A PDF with so many empty pages.
pub(crate) fn pdf(pages: usize) -> Vec<u8> {
    let kids: String = (0..pages).map(|page| format!("{} 0 R ", page + 3)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {pages} >>"),
    ];
    objects.extend((0..pages).map(|_| "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>".to_owned()));
    let mut file = String::from("%PDF-1.4\n");
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", number + 1));
    }
    let start = file.len();
    let size = objects.len() + 1;
    format!("{file}{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").into_bytes()
}

/// The bundled checkpoint's files in a folder of the sandbox.
pub(crate) fn checkpoint(sandbox: &Sandbox, name: &str) -> PathBuf {
    for entry in fs::read_dir(root().join("assets/nano")).unwrap() {
        let entry = entry.unwrap();
        let file = format!("{name}/{}", entry.file_name().to_str().unwrap());
        sandbox.write(&file, fs::read(entry.path()).unwrap());
    }
    sandbox.path(name)
}
