;;; gptel_turn.el --- one turn of a conversation in a file  -*- lexical-binding: t -*-
;; Usage: emacs -Q --batch -L … -l gptel_turn.el SETTINGS FILE QUESTION
;; Loads SETTINGS, opens FILE, adds QUESTION, waits for the answer, prints it and saves FILE for the next turn.

(require 'gptel)
(require 'gptel-openai)

(defun stone-busy ()
  "Whether gptel still waits for an answer, or will ask again for a tool's result."
  (or gptel--request-alist
      (seq-some (lambda (process) (string-prefix-p "gptel" (process-name process)))
                (process-list))))

;; As long as a prompt that somebody works with.
(defconst stone-rules
  (mapconcat (lambda (number)
               (format "Rule %d: put every stone back where it lay, and count to %d." number
                       (* number number)))
             (number-sequence 1 120) " "))

(pcase-let ((`(,settings ,file ,question) command-line-args-left))
  (setq command-line-args-left nil
        enable-local-variables :all
        gptel-default-mode 'org-mode
        gptel-use-curl t
        gptel-stream t
        gptel-confirm-tool-calls nil
        gptel-include-tool-results t
        gptel-include-reasoning t
        gptel--system-message stone-rules
        gptel-tools (list (gptel-make-tool
                           :name "run_command"
                           :function (lambda (command) (shell-command-to-string command))
                           :description "Runs a shell command and gives what it prints"
                           :args (list '(:name "command" :type string
                                               :description "The command to run"))))
        default-directory (file-name-directory file))
  (load settings nil t)
  (find-file file)
  (gptel-mode 1)
  (goto-char (point-max))
  (insert (if (bobp) "" "\n\n") question)
  (let ((begin (point)) (quiet 0))
    (gptel-send)
    (while (< quiet 20)
      (accept-process-output nil 0.1)
      (setq quiet (if (stone-busy) 0 (1+ quiet))))
    (princ (buffer-substring-no-properties begin (point-max))))
  (save-buffer))
